package metrics

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/cert"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/serve"
)

// collector reads the figures of its sources at each scrape.
type collector struct {
	mu           sync.Mutex
	controllers  map[string]controller.Interface
	caches       map[*func() []cache.Watch]struct{}
	leaders      map[string]func() bool
	certificates map[string]Certificate
	events       map[*func() event.Stats]struct{}
	servers      map[string]Server

	scrape   sync.Mutex // held during a scrape, since steadies are updated in it
	steady   map[*prometheus.Desc]steadies
	labelled map[string][]int // the priorities with a label of their own, by controller
}

func newCollector() *collector {
	return &collector{
		controllers: map[string]controller.Interface{}, caches: map[*func() []cache.Watch]struct{}{}, leaders: map[string]func() bool{},
		certificates: map[string]Certificate{}, events: map[*func() event.Stats]struct{}{}, servers: map[string]Server{},
		steady: map[*prometheus.Desc]steadies{}, labelled: map[string][]int{},
	}
}

// forget drops the label values of a controller.
func (c *collector) forget(controller string) {
	c.scrape.Lock()
	defer c.scrape.Unlock()
	delete(c.labelled, controller)
}

// add adds a source under a name to one of the collector's maps. end removes it, and reports
// whether this call did so.
func add[T any](c *collector, in map[string]T, what, name string, v T) (end func() bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := in[name]; taken {
		return nil, &TakenError{What: what, Name: name}
	}
	in[name] = v
	ended := false
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ended {
			return false
		}
		ended = true
		delete(in, name)
		return true
	}, nil
}

// AddCache adds a cache, whose watches every scrape reads: cache.Watches. The figures of watches
// with the same kind are added up.
func (m *Metrics) AddCache(watches func() []cache.Watch) (remove func()) {
	return addFunc(m.pulled, m.pulled.caches, watches)
}

// AddEvents adds a recorder, whose statistics every scrape reads: event.Recorder.Stats. The figures
// of several recorders are added up.
func (m *Metrics) AddEvents(stats func() event.Stats) (remove func()) {
	return addFunc(m.pulled, m.pulled.events, stats)
}

func addFunc[F any](c *collector, in map[*F]struct{}, f F) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	in[&f] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(in, &f)
	}
}

// AddLeader adds the lease of a name. leads reports at every scrape whether this process holds it.
// The error is a *TakenError.
func (m *Metrics) AddLeader(lease string, leads func() bool) (remove func(), err error) {
	end, err := add(m.pulled, m.pulled.leaders, "lease", label(lease), leads)
	return func() { end() }, err
}

// Certificate is a source of certificates with statistics. A cert.Source is one.
type Certificate interface{ Stats() cert.Stats }

// AddCertificate adds a source of certificates, which every scrape reads. The error is a
// *TakenError.
func (m *Metrics) AddCertificate(name string, c Certificate) (remove func(), err error) {
	end, err := add(m.pulled, m.pulled.certificates, "certificate", label(name), c)
	return func() { end() }, err
}

// Server is a server with statistics. *serve.Server is one.
type Server interface {
	Name() string
	Stats() serve.Stats
}

// AddServer adds a server, which every scrape reads. The error is a *TakenError.
func (m *Metrics) AddServer(s Server) (remove func(), err error) {
	end, err := add(m.pulled, m.pulled.servers, "server", label(s.Name()), s)
	return func() { end() }, err
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector. A source that panics is left out and reported.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	controllers, leaders, certificates, servers := maps.Clone(c.controllers), maps.Clone(c.leaders), maps.Clone(c.certificates), maps.Clone(c.servers)
	caches, events := slices.Collect(maps.Keys(c.caches)), slices.Collect(maps.Keys(c.events))
	c.mu.Unlock()

	c.scrape.Lock()
	defer c.scrape.Unlock()
	s := &scrape{ch: ch, now: time.Now(), was: c.steady, is: map[*prometheus.Desc]steadies{}, labelled: c.labelled}
	for name, x := range controllers {
		s.ask(workingDesc, func() { s.controller(name, x) })
	}
	s.ask(objectsDesc, func() {
		var all []cache.Watch
		for _, watches := range caches {
			all = append(all, (*watches)()...)
		}
		s.caches(all)
	})
	for name, leads := range leaders {
		s.ask(leaderDesc, func() { s.gauge(leaderDesc, boolean(leads()), name) })
	}
	s.ask(expiryDesc, func() { s.certificates(certificates) })
	s.ask(recordedDesc, func() { s.events(events) })
	for name, x := range servers {
		s.ask(openDesc, func() { s.server(name, x.Stats()) })
	}
	c.steady = s.is
}

// scrape is one run of Collect.
type scrape struct {
	ch       chan<- prometheus.Metric
	now      time.Time
	was, is  map[*prometheus.Desc]steadies
	labelled map[string][]int
}

// ask calls f, and reports a panic as an error of the scrape.
func (s *scrape) ask(what *prometheus.Desc, f func()) {
	if err := run.Safely("collect", func() error { f(); return nil }); err != nil {
		s.ch <- prometheus.NewInvalidMetric(what, err)
	}
}

func (s *scrape) gauge(d *prometheus.Desc, v float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// counter writes a counter that never falls. The value it is given may begin again at zero, or lose
// a part, when its source is replaced.
func (s *scrape) counter(d *prometheus.Desc, v float64, labels ...string) {
	if s.is[d] == nil {
		s.is[d] = steadies{}
	}
	key := labelKey(labels)
	next := s.was[d][key].next(v)
	s.is[d][key] = next
	s.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, next.base+next.last, labels...)
}

// steadies are the counters of one name, by their labels.
type steadies map[[2]string]steady

func labelKey(labels []string) (k [2]string) {
	copy(k[:], labels)
	return k
}

// steady is a counter that continues when its source begins again at zero.
type steady struct{ base, last float64 }

func (s steady) next(v float64) steady {
	if v < s.last {
		s.base += s.last - v
	}
	s.last = v
	return s
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
