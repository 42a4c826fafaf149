package controller_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// history is the life of a few Pods and of a controller whose functions are slow and fail. Each Pod belongs to a
// group, which its label app and its owner name.
type history struct {
	handler, predicate string
	slow               []time.Duration // of the calls of functions of the user, in turn
	faults             []fault         // of their first calls
	workers            int
	read               []time.Duration // how long a reconcile takes until it reads, in turn
	steps              []step
}

type fault int

const (
	none fault = iota
	fails
	panics
)

// step is one thing that happens.
type step struct {
	do     string // set, touch, delete, missed, resync, look, enqueue
	pod    int
	group  int
	status int           // a part that predicates and handlers do not look at
	then   time.Duration // passes
}

const pods, groups = 2, 6

func drawHistory(t *rapid.T) history {
	span := func(name string) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second, 40 * time.Second}).Draw(t, name)
	}
	spans := func(name string) []time.Duration {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration { return span(name) }), 1, 5).Draw(t, name)
	}
	h := history{
		handler:   rapid.SampledFrom([]string{"owner", "map", "header", "func", "edges", "self"}).Draw(t, "handler"),
		predicate: rapid.SampledFrom([]string{"none", "quick", "slow", "slow", "typed", "both"}).Draw(t, "predicate"),
		slow:      spans("slow"), read: spans("read"),
		workers: rapid.IntRange(1, 3).Draw(t, "workers"),
	}
	for range rapid.IntRange(0, 6).Draw(t, "faults") {
		h.faults = append(h.faults, fault(rapid.IntRange(0, 2).Draw(t, "fault")))
	}
	dos := []string{"set", "set", "set", "touch", "touch", "touch", "touch", "delete", "missed", "resync", "look", "look", "look", "enqueue"}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		h.steps = append(h.steps, step{
			do:  rapid.SampledFrom(dos).Draw(t, "do"),
			pod: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "pod"), group: rapid.IntRange(0, groups-1).Draw(t, "group"),
			status: rapid.IntRange(0, 1).Draw(t, "status"),
			then:   rapid.SampledFrom([]time.Duration{0, 0, 0, 0, time.Millisecond, time.Millisecond, 2 * time.Second}).Draw(t, "then"),
		})
	}
	return h
}

// stage is a run of a history, and the model: it judges each change by itself, and merges none.
type stage struct {
	h history
	w *watch

	mu      sync.Mutex
	now     int // events and reconciles, counted
	calls   int // of functions of the user
	reads   int
	version int
	state   [pods]*corev1.Pod
	started map[reconcile.Request]int    // when the last reconcile started
	saw     map[reconcile.Request]string // what the latest read showed
	all     map[reconcile.Request]int    // what is demanded: a reconcile that starts after this
	latest  [pods]map[reconcile.Request]int
}

func (s *stage) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// called sleeps and fails as the history says.
func (s *stage) called() error {
	var d time.Duration
	var f fault
	s.locked(func() {
		d = s.h.slow[s.calls%len(s.h.slow)]
		if s.calls < len(s.h.faults) {
			f = s.h.faults[s.calls]
		}
		s.calls++
	})
	time.Sleep(d)
	switch f {
	case fails:
		return errors.New("fails")
	case panics:
		panic("panics")
	}
	return nil
}

func groupKey(labels map[string]string) []reconcile.Request {
	return []reconcile.Request{key("g" + labels["app"])}
}

func group(e *store.Entry) string {
	if e == nil {
		return ""
	}
	app, _ := e.Label("app")
	return app
}

// source is the source of the controller.
func (s *stage) source() controller.Source[reconcile.Request] {
	var ps []predicate.Predicate
	differ := predicate.Func(func(c store.Change) bool {
		_ = s.called() // a Func has no error
		return c.Old == nil || c.New == nil || c.Replaced() || group(c.Old) != group(c.New)
	})
	switch s.h.predicate {
	case "quick":
		ps = append(ps, predicate.LabelsChanged("app"))
	case "slow":
		ps = append(ps, differ)
	case "both":
		ps = append(ps, predicate.OwnersChanged(), differ)
	case "typed":
		ps = append(ps, predicate.New(predicate.Funcs[*corev1.Pod]{Update: func(old, new *corev1.Pod) bool {
			_ = s.called()
			return old.Labels["app"] != new.Labels["app"]
		}}))
	}
	var h handler.Handler[reconcile.Request]
	switch s.h.handler {
	case "self":
		h = handler.Self()
	case "owner":
		h = handler.Owner[appsv1.Deployment](handler.Controlling)
	case "map":
		h = handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
			return groupKey(p.Labels), s.called()
		})
	case "header":
		h = handler.MapHeader(func(_ context.Context, m *object.Header) ([]reconcile.Request, error) {
			return groupKey(m.Labels), s.called()
		})
	default: // func, and edges: one that looks at what has changed
		h = handler.Func(func(_ context.Context, c store.Change) (all []reconcile.Request, err error) {
			err = s.called()
			if s.h.handler == "edges" && !c.Resync && c.Old != nil && c.New != nil && !c.Replaced() && group(c.Old) == group(c.New) {
				return nil, err
			}
			for _, e := range []*store.Entry{c.Old, c.New, c.Last} {
				if e != nil {
					all = append(all, key("g"+group(e)))
				}
			}
			return all, err
		})
	}
	return controller.Watches[corev1.Pod](h, ps...)
}

// view is what a reconcile of a request can see, and the predicate admits.
func (s *stage) view(req reconcile.Request) string {
	var out []string
	for i, p := range s.state {
		if p != nil && (req == object.KeyOf(p) || req == key("g"+p.Labels["app"])) {
			out = append(out, fmt.Sprint(i, " ", p.UID, " ", p.Labels["app"]))
		}
	}
	return strings.Join(out, ", ")
}

func (s *stage) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	var d time.Duration
	s.locked(func() {
		s.now++
		s.started[req] = s.now
		d = s.h.read[s.reads%len(s.h.read)]
		s.reads++
	})
	time.Sleep(d)
	s.locked(func() { s.saw[req] = s.view(req) })
	return reconcile.Result{}, nil
}

// demand records that the requests of some states of a Pod are due, where nil is none. The latest demand of a Pod
// stands for its last state. What is demanded for a state that others have followed is due where none was merged.
func (s *stage) demand(i int, states ...*corev1.Pod) {
	s.latest[i] = nil
	for _, p := range states {
		if p == nil {
			continue
		}
		s.latest[i] = map[reconcile.Request]int{}
		for _, r := range s.requests(p) {
			s.latest[i][r], s.all[r] = s.now, s.now
		}
	}
}

// requests are those of a Pod.
func (s *stage) requests(p *corev1.Pod) []reconcile.Request {
	if s.h.handler == "self" {
		return []reconcile.Request{object.KeyOf(p)}
	}
	return groupKey(p.Labels)
}

// publish shows a new state of a Pod, tells the controller, and has the model demand the reconciles.
func (s *stage) publish(i int, p *corev1.Pod, mark func(*store.Change)) {
	s.locked(func() {
		old := s.state[i]
		s.state[i] = p
		s.now++
		relevant := old == nil || p == nil || old.UID != p.UID || old.Labels["app"] != p.Labels["app"] || s.h.predicate == "none" && s.h.handler != "edges"
		if relevant {
			s.demand(i, old, p)
		}
	})
	k := key(fmt.Sprint("p", i))
	s.w.change(k, func(c *store.Change) {
		if p != nil {
			c.New = testobj.Entry(p)
		} else {
			c.Last = c.Old
		}
		mark(c)
	})
}

func (s *stage) pod(st step) *corev1.Pod {
	s.version++
	uid := types.UID(fmt.Sprint("u", s.version))
	if old := s.state[st.pod]; old != nil {
		uid = old.UID
	}
	p := testobj.Pod(fmt.Sprint("web/p", st.pod), testobj.UID(uid), testobj.Version(fmt.Sprint(s.version)), testobj.Labels(fmt.Sprint("app=", st.group)),
		testobj.OwnedBy(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: fmt.Sprint("g", st.group), UID: "o", Controller: new(true)}))
	p.Status.Reason = fmt.Sprint(st.status)
	return p
}

func (s *stage) step(st step, c *controller.Controller[reconcile.Request]) {
	plain := func(*store.Change) {}
	old := s.state[st.pod]
	if st.do == "touch" || st.do == "look" { // of the group that it has
		if old == nil {
			return
		}
		st.group, _ = strconv.Atoi(old.Labels["app"])
	}
	switch st.do {
	case "set", "touch":
		s.publish(st.pod, s.pod(st), plain)
	case "delete", "missed":
		if old != nil {
			s.publish(st.pod, nil, func(c *store.Change) { c.Missed = st.do == "missed" })
		}
	case "resync":
		if old == nil {
			return
		}
		s.locked(func() {
			s.now++
			s.demand(st.pod, old)
		})
		s.w.change(object.KeyOf(old), func(c *store.Change) { c.New, c.Resync = c.Old, true })
	case "look", "enqueue":
		if s.h.handler == "self" {
			c.Enqueue(key(fmt.Sprint("p", st.pod)))
		} else {
			c.Enqueue(key(fmt.Sprint("g", st.group)))
		}
	}
}

// play runs the history in a bubble. It returns what the controller owes at its end.
func (h history) play(t *testing.T) (debts []string) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		s := &stage{h: h, started: map[reconcile.Request]int{}, saw: map[reconcile.Request]string{}, all: map[reconcile.Request]int{}}
		c, err := controller.NewWith(m, "test", s.Reconcile, controller.Options{Workers: h.workers}, controller.WithoutFor(), s.source())
		if err != nil {
			t.Fatal(err)
		}
		stop := start(c)
		s.w = m.watch("Pod")
		close(s.w.synced)
		synctest.Wait()
		for _, st := range h.steps {
			s.step(st, c)
			if st.then > 0 || st.do == "look" {
				pass(st.then)
			}
		}
		pass(6 * time.Hour)
		stop()
		s.locked(func() { debts = s.debts() })
	})
	return debts
}

// debts are the reconciles that are missing.
func (s *stage) debts() (debts []string) {
	due := s.latest[:]
	merged := len(s.h.steps) > 8
	if !merged {
		due = append(due, s.all)
	} else if s.h.handler == "edges" {
		return nil
	}
	for _, requests := range due {
		for r, at := range requests {
			if s.started[r] < at {
				debts = append(debts, fmt.Sprintf("%s: no reconcile started after event %d, the last one after %d", r, at, s.started[r]))
			}
		}
	}
	all := map[reconcile.Request]bool{}
	for i := range groups { // of those that a Pod had in between, merged changes tell nothing
		r := key(fmt.Sprint("g", i))
		_, a := s.latest[0][r]
		_, b := s.latest[1][r]
		all[r] = s.h.handler != "self" && (!merged || a || b)
	}
	for i := range pods {
		all[key(fmt.Sprint("p", i))] = s.h.handler == "self"
	}
	for r, wanted := range all {
		if saw, is := s.saw[r], s.view(r); wanted && saw != is {
			debts = append(debts, fmt.Sprintf("%s: the last reconcile saw %q, and it is %q", r, saw, is))
		}
	}
	slices.Sort(debts)
	return debts
}

// TestEveryLastStateIsReconciled plays random histories: after the last change that matters to a request, a reconcile
// of it starts, and sees it, behind slow and failing functions. Where changes were merged that is so for the requests of
// the last state. FLYBALL_LONG=1 plays more.
func TestEveryLastStateIsReconciled(t *testing.T) {
	checks := "1500"
	if os.Getenv("FLYBALL_LONG") == "1" {
		checks = "50000"
	}
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := flag.Set("rapid.checks", checks); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		if debts := h.play(t); len(debts) > 0 {
			rt.Fatalf("%s\nof %+v", strings.Join(debts, "\n"), h)
		}
	})
}

// Events from outside are no states of an object: each asks for requests of its own, and none is merged. The sender
// waits while the handler fails on an earlier one.
func TestEventsFromOutsideWaitForTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 50
		m, r := newManager(), &recorder{}
		ch := make(chan *corev1.Pod)
		var works atomic.Bool
		h := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
			if !works.Load() {
				return nil, errors.New("not yet")
			}
			return []reconcile.Request{key("of-" + p.Labels["app"])}, nil
		})
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Channel(ch, h)))
		var sent atomic.Int32
		go func() {
			for i := range events {
				ch <- testobj.Pod("web/a", testobj.Labels(fmt.Sprint("app=", i)))
				sent.Add(1)
			}
		}()
		pass(time.Hour)
		if n := sent.Load(); n != 2 { // one is queued, and one is held
			t.Errorf("%d events are taken from the channel while the handler fails", n)
		}
		works.Store(true)
		pass(time.Hour)
		if calls := r.calls(); len(calls) != events {
			t.Errorf("%d reconciles of %d: %q", len(calls), events, calls)
		}
		stop()
	})
}

// What waits behind a function of the user is merged, and costs nothing but its own object: no other request is queued
// again for it, however often it changes. Of the object itself the last state is reconciled, also if it equals the
// first: a reconcile may have seen a state in between.
func TestMergedChangesQueueTheirOwnRequestsOnly(t *testing.T) {
	never := func(store.Change) bool { time.Sleep(300 * time.Millisecond); return false }
	differs := func(c store.Change) bool {
		time.Sleep(300 * time.Millisecond)
		return c.Old == nil || c.New == nil || group(c.Old) != group(c.New)
	}
	bad := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
		return nil, fmt.Errorf("annotation of %s is malformed", p.Name)
	})
	for name, source := range map[string]controller.Source[reconcile.Request]{
		"a slow predicate":             controller.Watches[corev1.Pod](handler.Self(), predicate.Func(never)),
		"a slow predicate that passes": controller.Watches[corev1.Pod](handler.Self(), predicate.Func(differs)),
		"a handler that fails":         controller.Watches[corev1.Pod](bad),
	} {
		for _, between := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second} {
			t.Run(fmt.Sprint(name, ", every ", between), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const others = 20
					m, r := newManager(), &recorder{}
					stop := start(newController(t, m, r.Reconcile, controller.Options{Workers: 4}, forDeployments(), source))
					deployments, pods := m.watch("Deployment"), m.watch("Pod")
					close(deployments.synced)
					close(pods.synced)
					version := 1
					touch := func(n int) {
						for range n {
							version++
							pods.set(testobj.Pod("web/hot", testobj.Version(fmt.Sprint(version)), testobj.Labels(fmt.Sprint("app=", version%2))), false)
							pass(between)
						}
					}
					touch(40)
					for i := range others {
						version++
						deployments.set(deployment(fmt.Sprint("d", i), version), false)
					}
					touch(40)
					for i := range others {
						deployments.remove(key(fmt.Sprint("d", i)))
					}
					touch(200)
					pass(time.Hour)
					hot := 0
					for _, call := range r.calls() {
						if strings.HasPrefix(call, "hot ") {
							hot++
						}
					}
					if n := len(r.calls()) - hot; n > 2*others {
						t.Errorf("%d reconciles of %d objects that were made and deleted", n, others)
					}
					if merges := between < 300*time.Millisecond; name != "a handler that fails" && merges && hot == 0 {
						t.Error("no reconcile of the object with merged changes")
					}
					stop()
				})
			})
		}
	}
}
