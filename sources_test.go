package flyball_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/reconcile"
)

const never = 1000 * time.Hour

// drawnSource is a source of the generator.
type drawnSource struct {
	verb     string // "For", "Owns" or "Watches"
	resource string
	cluster  int
	optional bool
}

func (s drawnSource) kind() schema.GroupVersionKind {
	k := regionKinds[s.resource]
	return schema.FromAPIVersionAndKind(k[0], k[1])
}

// String is the source as the controller names it.
func (s drawnSource) String() string { return s.verb + "(" + s.kind().Kind + ")" }

// describe logs what is drawn.
func (p *program) describe() {
	p.t.Logf("namespaces %q, lenient %v", p.namespaces, p.lenient)
	for _, s := range p.sources {
		p.t.Logf("%v of cluster %d, optional %v", s, s.cluster, s.optional)
	}
	for i, g := range p.regions {
		for part, all := range g.faults {
			for _, f := range all {
				p.t.Logf("cluster %d, %q: %s from %v to %v", i, part, f.how, f.from.Sub(p.began), f.to.Sub(p.began))
			}
		}
	}
}

// program is a controller of the generator with its clusters.
type program struct {
	t          *testing.T
	rand       *rand.Rand
	began      time.Time
	namespaces []string // those that are watched; one empty name stands for all
	lenient    bool     // reconciles succeed even if a read fails
	sources    []drawnSource
	regions    [2]*region
	managers   [2]*flyball.Manager
	controller *controller.Controller[reconcile.Request]
	log        lockedBuffer

	mu     sync.Mutex
	starts map[string]time.Time // by key, when its last reconcile started
}

// lockedBuffer takes a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) lines(with string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.b.String(), with)
}

// drawProgram draws sources, namespaces, clusters and failures. Those begin at the start, or in late draws while all
// works.
func drawProgram(t *testing.T, seed uint64, late bool) *program {
	p := &program{t: t, rand: rand.New(rand.NewPCG(seed, 22)), began: time.Now(), namespaces: []string{""}, starts: map[string]time.Time{}}
	if p.lenient = p.rand.IntN(2) == 0; p.rand.IntN(3) > 0 {
		p.namespaces = []string{"a", "b", "c"}[:1+p.rand.IntN(3)]
	}
	var all []drawnSource
	for resource := range regionKinds {
		all = append(all, drawnSource{"", resource, 0, false}, drawnSource{"", resource, 1, false})
	}
	slices.SortFunc(all, func(a, b drawnSource) int {
		return strings.Compare(fmt.Sprint(a.resource, a.cluster), fmt.Sprint(b.resource, b.cluster))
	})
	p.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	p.sources = all[:1+p.rand.IntN(4)]
	withFor := p.rand.IntN(4) > 0
	for i := range p.sources {
		s := &p.sources[i]
		s.verb, s.optional = "Watches", p.rand.IntN(3) == 0
		switch {
		case withFor && i == 0:
			s.verb = "For"
		case withFor && p.rand.IntN(2) == 0:
			s.verb = "Owns"
		}
	}
	for i := range p.regions {
		g := newRegion()
		p.regions[i] = g
		for resource := range regionKinds {
			for _, ns := range []string{"a", "b", "c"} {
				for n := range 2 {
					g.put(resource, ns, fmt.Sprintf("main-%d", n))
				}
			}
		}
		draw := func(part string, hows ...string) {
			if p.rand.IntN(3) > 0 {
				return
			}
			f := fault{how: hows[p.rand.IntN(len(hows))], from: p.began}
			f.to = f.from.Add([]time.Duration{5 * time.Second, 40 * time.Second, 3 * time.Minute, 9 * time.Minute, never}[p.rand.IntN(5)])
			if late {
				f.from = p.began.Add(5 * time.Minute)
				f.to = f.from.Add([]time.Duration{time.Minute, 12 * time.Minute, never}[p.rand.IntN(3)])
			}
			g.fails(part, f)
		}
		if i > 0 {
			draw("", unreachable, hangs)
		}
		for _, resource := range slices.Sorted(maps.Keys(regionKinds)) {
			draw(resource, unserved)
			for _, ns := range p.namespaces {
				draw(resource+"/"+ns, forbidden, hangs)
			}
		}
	}
	return p
}

// drawnWatch is a watch of a source.
type drawnWatch struct {
	source    drawnSource
	namespace string
	main      bool
}

func (p *program) watches() (all []drawnWatch) {
	for _, s := range p.sources {
		for _, ns := range p.namespaces {
			all = append(all, drawnWatch{s, ns, s.verb == "For" || p.sources[0].verb != "For"})
		}
	}
	return all
}

// failing is how a watch fails at a time, after its source was opened or before. It is "excused" where the server does
// not serve an optional kind.
func (p *program) failing(w drawnWatch, after time.Duration, open bool) string {
	at := p.began.Add(after)
	if main := p.sources[0]; w.source.verb == "Owns" && !open { // it needs the scope of its owners
		if how := p.regions[w.source.cluster].failing(main.resource, "-", at).how; how == unserved {
			if slices.ContainsFunc(p.sources, func(s drawnSource) bool {
				return s.optional && s.cluster == w.source.cluster && s.resource == main.resource
			}) {
				return "excused"
			}
			return how
		}
	}
	how := p.regions[w.source.cluster].failing(w.source.resource, w.namespace, at).how
	if how == unserved && w.source.optional {
		return "excused"
	}
	return how
}

// recovers is when a watch that fails at the start works; never if it does not.
func (p *program) recovers(w drawnWatch) time.Duration {
	for _, after := range []time.Duration{0, 5 * time.Second, 40 * time.Second, 3 * time.Minute, 9 * time.Minute} {
		if p.failing(w, after, false) == "" {
			return after
		}
	}
	return never
}

// opens reports whether a source that fails at the start could be opened by the end. One that could not is waited for
// as a whole.
func (p *program) opens(s drawnSource) bool {
	end := p.began.Add(20 * time.Minute)
	g, main := p.regions[s.cluster], p.sources[0]
	return g.failing("", "", end).how == "" && (s.verb != "Owns" || g.failing(main.resource, "-", end).how == "")
}

func (p *program) start() (stop func()) {
	o := flyball.Options{
		Name: "test", Logger: slog.New(slog.NewTextHandler(io.MultiWriter(&p.log, p.t.Output()), nil)),
		Config: &rest.Config{Host: "http://own.test", Transport: p.regions[0]},
	}
	if p.namespaces[0] != "" {
		o.Cache = cache.Options{Namespaces: p.namespaces}
	}
	var err error
	if p.managers[0], err = flyball.New(o); err != nil {
		p.t.Fatal(err)
	}
	o = flyball.Options{Config: &rest.Config{Host: "http://east.test", Transport: p.regions[1]}, Cache: o.Cache}
	if p.managers[1], err = p.managers[0].Cluster("east", o); err != nil {
		p.t.Fatal(err)
	}
	var sources []controller.Source[reconcile.Request]
	for _, s := range p.sources {
		var source controller.Source[reconcile.Request]
		switch s.verb {
		case "For":
			source = controller.ForKind[unstructured.Unstructured](s.kind())
		case "Owns":
			source = controller.OwnsKind[unstructured.Unstructured](s.kind())
		default:
			source = controller.WatchesKind[unstructured.Unstructured](s.kind(), handler.Self())
		}
		source = source.From(p.managers[s.cluster])
		if s.optional {
			source = source.Optional()
		}
		sources = append(sources, source)
	}
	if p.sources[0].verb != "For" {
		sources = append(sources, controller.WithoutFor())
	}
	if p.controller, err = controller.NewWith(p.managers[0], "test", p.reconcile, controller.Options{Workers: 4}, sources...); err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.managers[0].Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("Run: %v", err)
		}
	}
}

// reconcile reads all that it can. Each answer is an error, or the truth.
func (p *program) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p.mu.Lock()
	p.starts[req.String()] = time.Now()
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var failed error
	for _, s := range p.sources {
		g, m := p.regions[s.cluster], p.managers[s.cluster]
		for who, reader := range map[string]client.Reader{"cache": m.Cache(), "client": m.Client()} {
			for _, ns := range []string{req.Namespace, ""} {
				var got []string
				var failure error
				for o, err := range client.List[unstructured.Unstructured](ctx, reader, client.OfKind(s.kind()), client.InNamespace(ns)) {
					if err != nil {
						failure = err
						break
					}
					got = append(got, o.GetNamespace()+"/"+o.GetName())
				}
				failed = errors.Join(failed, failure)
				want := g.names(s.resource, ns)
				if held := p.namespaces; ns == "" && held[0] != "" && failure == nil && len(got) < len(want) {
					want = slices.DeleteFunc(want, func(name string) bool { return !slices.Contains(held, name[:1]) })
				}
				if slices.Sort(got); failure == nil && !slices.Equal(got, want) {
					p.t.Errorf("%v: %s lists %q of %s in namespace %q of cluster %d, there are %q", time.Since(p.began), who, got, s.resource, ns, s.cluster, want)
				}
			}
			_, err := client.Get[unstructured.Unstructured](ctx, reader, req, client.OfKind(s.kind()))
			if there := slices.Contains(g.names(s.resource, req.Namespace), req.String()); apierrors.IsNotFound(err) && there {
				p.t.Errorf("%v: %s says that %s %s is not there", time.Since(p.began), who, s.resource, req)
			}
		}
	}
	if p.lenient {
		failed = nil
	}
	return reconcile.Result{}, failed
}

// started checks that each object of the main watches that satisfy is has been reconciled since some time after the
// start.
func (p *program) started(what string, since time.Duration, is func(drawnWatch) bool) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches() {
		if !w.main || !is(w) {
			continue
		}
		for _, name := range p.regions[w.source.cluster].names(w.source.resource, w.namespace) {
			if at, ok := p.starts[name]; !ok || at.Before(p.began.Add(since)) {
				p.t.Errorf("%s: %s of %v in cluster %d: the last reconcile started %v after the start, want one after %v; %v", what, name, w.source, w.source.cluster, at.Sub(p.began), since, p.controller.State())
			}
		}
	}
}

// waiting are the watches that the controller, its metrics and its readiness say to wait for, by source, as in "Owns(Secret) a".
func (p *program) checkWaiting(what string, lost map[drawnWatch]bool) {
	p.t.Helper()
	var want []string
	theirs := map[drawnSource]bool{}
	for w := range lost {
		want = append(want, w.source.String()+" "+w.namespace)
		if w.source.cluster == 1 {
			theirs[w.source] = true
		}
	}
	var told, failing []string
	east := 0
	if e, ok := errors.AsType[*controller.SyncError](p.controller.State().Err); ok {
		for _, s := range e.Sources {
			if s.Err != nil && strings.Contains(s.Err.Error(), "cluster east: ") {
				east++
			}
			for _, ns := range s.Waiting {
				told = append(told, s.Source+" "+ns)
			}
		}
	}
	for _, s := range p.controller.SourceFailures() {
		for _, ns := range s.Waiting {
			failing = append(failing, s.Source+" "+ns)
		}
	}
	metric := 0.0
	all, err := p.managers[0].Gatherer().Gather()
	if err != nil {
		p.t.Error(err)
	}
	for _, f := range all {
		if f.GetName() == "flyball_source_waiting_watches" {
			for _, m := range f.GetMetric() {
				metric += m.GetGauge().GetValue()
			}
		}
	}
	slices.Sort(told)
	slices.Sort(failing)
	slices.Sort(want)
	if !slices.Equal(told, want) || !slices.Equal(failing, want) || metric != float64(len(want)) {
		p.t.Errorf("%s: the state names %q, the sources %q, the metric is %v, want %q; %v", what, told, failing, metric, want, p.controller.State())
	}
	if east != len(theirs) {
		p.t.Errorf("%s: the cluster is named for %d sources, want %d: %v", what, east, len(theirs), p.controller.State().Err)
	}
	ready := p.managers[0].Ready().Err(p.t.Context())
	if ready == nil != (len(want) == 0) {
		p.t.Errorf("%s: readiness is %v, want that of %q", what, ready, want)
	}
	for _, w := range want {
		if source, _, _ := strings.Cut(w, " "); ready != nil && !strings.Contains(ready.Error(), source) {
			p.t.Errorf("%s: readiness does not name %s: %v", what, source, ready)
		}
	}
}

// Kinds, namespaces and clusters that fail at the start stop nothing else. Their objects are reconciled when they work,
// and all others are reconciled again then. No read of them is empty before.
func TestWhatCanRunRuns(t *testing.T) {
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := drawProgram(t, seed, false)
				p.describe()
				silent := slices.ContainsFunc(p.watches(), func(w drawnWatch) bool {
					return slices.ContainsFunc([]time.Duration{0, 5 * time.Second, 40 * time.Second}, func(at time.Duration) bool {
						return p.failing(w, at, false) == hangs
					})
				})
				latest := time.Duration(0) // recovery
				lost := map[drawnWatch]bool{}
				for _, w := range p.watches() {
					at := p.recovers(w)
					if at == never {
						counts := w
						if !p.opens(w.source) {
							counts.namespace = ""
						}
						if p.failing(w, 20*time.Minute, false) != "excused" {
							lost[counts] = true
						}
						continue
					}
					latest = max(latest, at)
					if !w.main && at > 0 {
						ns := w.namespace
						time.AfterFunc(at-time.Second, func() { p.regions[w.source.cluster].remove(w.source.resource, max(ns, "a"), "main-1") })
					}
				}
				stop := p.start()
				defer stop()
				works := func(w drawnWatch) bool { return p.recovers(w) == 0 }
				time.Sleep(time.Minute)
				if !silent {
					p.started("after a minute", 0, works)
				}
				time.Sleep(3 * time.Minute)
				p.started("after four minutes", 0, works)
				time.Sleep(16 * time.Minute)
				p.started("after all recoveries", latest, func(w drawnWatch) bool { return p.recovers(w) < never })
				if slices.ContainsFunc(p.watches(), func(w drawnWatch) bool {
					return w.main && (p.recovers(w) < never || p.failing(w, 20*time.Minute, false) == "excused")
				}) {
					p.checkWaiting("after all recoveries", lost)
				}
				for _, s := range p.sources {
					if n := p.log.lines(`msg="source cannot sync, trying again" controller=test source=` + s.String() + " "); n > len(p.sources) {
						t.Errorf("%d lines about %v", n, s)
					}
				}
			})
		})
	}
}

// Kinds, namespaces and clusters that fail while the controller works stop nothing else, and what changed meanwhile is
// reconciled afterwards.
func TestWhatFailsLaterStopsNothingElse(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := drawProgram(t, seed, true)
				p.describe()
				defer p.start()()
				time.Sleep(15 * time.Minute)
				for _, w := range p.watches() {
					if w.main {
						for _, name := range p.regions[w.source.cluster].names(w.source.resource, w.namespace) {
							ns, name, _ := strings.Cut(name, "/")
							p.regions[w.source.cluster].put(w.source.resource, ns, name)
						}
					}
				}
				works := func(after time.Duration) func(drawnWatch) bool {
					return func(w drawnWatch) bool { return p.failing(w, after, true) == "" }
				}
				time.Sleep(time.Minute)
				p.started("a minute after a change", 15*time.Minute, works(15*time.Minute))
				time.Sleep(9 * time.Minute)
				p.started("after all recoveries", 15*time.Minute, works(20*time.Minute))
				if s := p.controller.State(); s.Phase != controller.Working || s.Err != nil {
					t.Errorf("%v", s)
				}
			})
		})
	}
}
