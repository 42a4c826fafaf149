package metrics

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/ops/cert"
	"github.com/flyball-io/flyball/ops/serve"
	"github.com/flyball-io/flyball/run"
)

// source is a part of the program whose figures are read at each scrape.
type source struct {
	what, name string // the name is empty if there may be several
	read       func(*scrape)
}

// collector reads the figures of its sources at each scrape. Sources that write the same series are
// added up.
type collector struct {
	mu      sync.Mutex
	sources map[*source]struct{}

	scrape   sync.Mutex // held during a scrape, which changes steady and labelled
	steady   map[series]steady
	labelled map[string][]int // the priorities with a label of their own, by controller
}

func newCollector() *collector {
	return &collector{sources: map[*source]struct{}{}, steady: map[series]steady{}, labelled: map[string][]int{}}
}

// add adds a source. remove removes it, and reports whether this call did so.
func (c *collector) add(what, name string, read func(*scrape)) (remove func() bool, err error) {
	added := &source{what, name, read}
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.sources {
		if name != "" && s.what == what && s.name == name {
			return nil, &TakenError{What: what, Name: name}
		}
	}
	c.sources[added] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.sources[added]
		delete(c.sources, added)
		return there
	}, nil
}

// forget drops the label values of a controller.
func (c *collector) forget(controller string) {
	c.scrape.Lock()
	defer c.scrape.Unlock()
	delete(c.labelled, controller)
}

// AddController reads the state, the queue and the failing sources of c at each scrape. Calling remove
// ends that, and drops all series of the name, those of the hooks included. The error is a *TakenError.
func (m *Metrics) AddController(c controller.Interface) (remove func(), err error) {
	name := label(c.Name())
	end, err := m.pulled.add("controller", name, func(s *scrape) { s.controller(name, c) })
	return func() {
		if end() {
			m.controllers.forget(name)
			m.pulled.forget(name)
		}
	}, err
}

// AddCache adds a cache, whose watches every scrape reads: cache.Watches. The figures of watches
// with the same kind are added up.
func (m *Metrics) AddCache(watches func() []cache.Watch) (remove func()) {
	end, _ := m.pulled.add("cache", "", func(s *scrape) {
		for _, w := range watches() {
			s.watch(w)
		}
	})
	return func() { end() }
}

// AddEvents adds a recorder, whose statistics every scrape reads: event.Recorder.Stats. The figures
// of several recorders are added up.
func (m *Metrics) AddEvents(stats func() event.Stats) (remove func()) {
	end, _ := m.pulled.add("events", "", func(s *scrape) { write(s, eventFigures, stats(), "") })
	return func() { end() }
}

// AddLeader adds the lease of a name. leads reports at every scrape whether this process holds it.
// The error is a *TakenError.
func (m *Metrics) AddLeader(lease string, leads func() bool) (remove func(), err error) {
	lease = label(lease)
	end, err := m.pulled.add("lease", lease, func(s *scrape) { s.add(leaderDesc, boolean(leads()), lease) })
	return func() { end() }, err
}

// AddCertificate adds a source of certificates, whose statistics every scrape reads:
// cert.Source.Stats. The error is a *TakenError.
func (m *Metrics) AddCertificate(name string, stats func() cert.Stats) (remove func(), err error) {
	name = label(name)
	end, err := m.pulled.add("certificate", name, func(s *scrape) { write(s, certificateFigures, stats(), name) })
	return func() { end() }, err
}

// AddServer adds a server, whose statistics every scrape reads: serve.Server.Stats. The error is a
// *TakenError.
func (m *Metrics) AddServer(name string, stats func() serve.Stats) (remove func(), err error) {
	name = label(name)
	end, err := m.pulled.add("server", name, func(s *scrape) { write(s, serverFigures, stats(), name) })
	return func() { end() }, err
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d.Desc
	}
}

// Collect implements prometheus.Collector. A source that panics is left out and reported.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	sources := slices.Collect(maps.Keys(c.sources))
	c.mu.Unlock()

	c.scrape.Lock()
	defer c.scrape.Unlock()
	all := map[series]float64{}
	for _, x := range sources {
		s := &scrape{now: time.Now(), values: map[series]float64{}, labelled: c.labelled}
		if err := run.Safely("collect", func() error { x.read(s); return nil }); err != nil {
			ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(fmt.Errorf("metrics of %s %s: %w", x.what, x.name, err)), err)
			continue
		}
		for k, v := range s.values {
			fold(all, k, v)
		}
	}
	counted := map[series]steady{}
	for k, v := range all {
		if math.IsNaN(v) {
			continue
		}
		if k.desc.kind == prometheus.CounterValue {
			next := c.steady[k].next(v)
			counted[k], v = next, next.base+next.last
		}
		ch <- prometheus.MustNewConstMetric(k.desc.Desc, k.desc.kind, v, k.labels[:k.desc.labels]...)
	}
	c.steady = counted
}

// series is one time series.
type series struct {
	desc   *desc
	labels [3]string
}

// scrape is what one source writes in one scrape.
type scrape struct {
	now      time.Time
	values   map[series]float64
	labelled map[string][]int
}

// add adds a value to a series. Labels that the metric does not have are left out.
func (s *scrape) add(d *desc, v float64, labels ...string) {
	k := series{desc: d}
	copy(k.labels[:d.labels], labels)
	fold(s.values, k, v)
}

func fold(values map[series]float64, k series, v float64) {
	if was, ok := values[k]; ok {
		v = k.desc.fold(was, v)
	}
	values[k] = v
}

// steady is a counter that continues when its source begins again at zero, or loses a part.
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
