package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// problemList collects the problems that a controller reports.
type problemList struct {
	mu   sync.Mutex
	list []controller.Problem
}

func (l *problemList) hooks() controller.Hooks {
	return controller.Hooks{Problem: func(p controller.Problem) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list = append(l.list, p)
	}}
}

func (l *problemList) all() []controller.Problem {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// cached is a manager that watches ConfigMaps by an informer of a scripted server.
type cached struct {
	*manager
	in *informer.Informer
}

func (c cached) Subscribe(_ context.Context, _ object.Object, name string, fn func(store.Change)) (controller.Subscription, error) {
	r, err := c.in.Subscribe(name, fn)
	return registration{r}, err
}

type registration struct{ *informer.Registration }

func (r registration) Waiting() (map[string]error, int) {
	if r.HasSynced() {
		return nil, 1
	}
	return map[string]error{"": nil}, 1
}

func (r registration) Close() { _ = r.RemoveAndWait(context.Background()) }

// newCached runs an informer until the returned function is called.
func newCached(t *testing.T, log io.Writer) (cached, *feedtest.Server, func()) {
	t.Helper()
	kind := wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Scheme: theScheme}
	s := feedtest.New(&kind)
	in, err := informer.New(s, informer.Options{
		Kind:   informer.Kind{GVK: kind.GVK, Resource: corev1.SchemeGroupVersion.WithResource("configmaps")},
		Scheme: theScheme, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	c := cached{newManager(), in}
	c.logger = slog.New(slog.NewTextHandler(log, nil))
	return c, s, func() {
		cancel()
		<-done
	}
}

// A function that sleeps for five minutes delays its own controller, and is named after a second. Reads of the
// kind, other controllers and the watch go on.
func TestSlowFunctionDelaysItsControllerOnly(t *testing.T) {
	slowly := func(name string) {
		if name == "slow" {
			time.Sleep(5 * time.Minute)
		}
	}
	byMap := handler.Map(func(_ context.Context, m *corev1.ConfigMap) ([]reconcile.Request, error) {
		slowly(m.Name)
		return []reconcile.Request{object.KeyOf(m)}, nil
	})
	for name, tc := range map[string]struct {
		part   string
		source controller.Source[reconcile.Request]
	}{
		"handler": {"handler", controller.Watches[corev1.ConfigMap](byMap)},
		"header": {"handler", controller.Watches[corev1.ConfigMap](handler.MapHeader(func(_ context.Context, h *object.Header) ([]reconcile.Request, error) {
			slowly(h.Name)
			return []reconcile.Request{h.Key}, nil
		}))},
		"predicate": {"predicate", controller.Watches[corev1.ConfigMap](handler.Self(), predicate.Func(func(c store.Change) bool {
			slowly(c.Key.Name)
			return true
		}))},
		"a predicate in others": {"predicate", controller.Watches[corev1.ConfigMap](handler.Self(), predicate.InNamespace("web"),
			predicate.Or(predicate.And(predicate.Not(predicate.Func(func(c store.Change) bool {
				slowly(c.Key.Name)
				return false
			})))))},
		"typed predicate": {"predicate", controller.Watches[corev1.ConfigMap](handler.Self(), predicate.New(predicate.Funcs[*corev1.ConfigMap]{
			Create: func(m *corev1.ConfigMap) bool {
				slowly(m.Name)
				return true
			},
		}))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				m, s, end := newCached(t, &log)
				defer end()
				synctest.Wait()
				var told problemList
				slow, other := &recorder{}, &recorder{}
				one, err := controller.NewWith(m, "slow", slow.Reconcile, controller.Options{Hooks: told.hooks()}, controller.WithoutFor(), tc.source)
				if err != nil {
					t.Fatal(err)
				}
				two, err := controller.New(m, "other", other.Reconcile, controller.For[corev1.ConfigMap]())
				if err != nil {
					t.Fatal(err)
				}
				defer start(one)()
				defer start(two)()
				s.Put(testobj.ConfigMap("web/slow"))
				s.Put(testobj.ConfigMap("web/a"))
				synctest.Wait()
				if _, err := m.in.Entry(key("a")); err != nil {
					t.Errorf("an unrelated object cannot be read: %v", err)
				}
				if calls := other.calls(); len(calls) != 2 {
					t.Errorf("the other controller has reconciled %q, want both", calls)
				}
				pass(900 * time.Millisecond)
				if got := told.all(); len(got) != 0 {
					t.Errorf("problems before a second has passed: %v", got)
				}
				pass(200 * time.Millisecond)
				got := told.all()
				late, _ := errors.AsType[*controller.OverdueError](append(got, controller.Problem{Err: io.EOF})[0].Err)
				if late == nil || late.Part != tc.part || late.Key != key("slow") || got[0].Part != tc.part || got[0].Source != "Watches(ConfigMap)" {
					t.Errorf("problems %v, want the %s named", got, tc.part)
				}
				if n := strings.Count(log.String(), "source takes long"); n != 1 {
					t.Errorf("%d lines of log, want one:\n%s", n, &log)
				}
				pass(4 * time.Minute)
				s.Delete(key("a"))
				s.Put(testobj.ConfigMap("web/b"))
				synctest.Wait()
				if _, err := m.in.Entry(key("a")); err == nil {
					t.Error("what was deleted can be read")
				}
				if calls := slow.calls(); len(calls) != 0 || len(told.all()) != 1 {
					t.Errorf("the slow controller has reconciled %q; problems %v", calls, told.all())
				}
				pass(time.Minute)
				calls := slow.calls()
				for _, want := range []string{"a deleted", "b created", "slow created"} {
					if !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, want) }) {
						t.Errorf("the slow controller has reconciled %q, want %s among them", calls, want)
					}
				}
				if _, _, open := s.Counts(); open != 1 {
					t.Errorf("%d watches are open", open)
				}
			})
		})
	}
}

// Workers start when the handler was called for all existing objects. Until then the state names the slow call.
func TestWorkersWaitForSlowHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s, end := newCached(t, io.Discard)
		defer end()
		s.Put(testobj.ConfigMap("web/slow"))
		s.Put(testobj.ConfigMap("web/a"))
		r := &recorder{}
		c, err := controller.New(m, "slow", r.Reconcile, controller.WithoutFor(), controller.Watches[corev1.ConfigMap](
			handler.MapHeader(func(_ context.Context, h *object.Header) ([]reconcile.Request, error) {
				time.Sleep(time.Minute)
				return []reconcile.Request{h.Key}, nil
			})))
		if err != nil {
			t.Fatal(err)
		}
		defer start(c)()
		pass(90 * time.Second)
		var late *controller.OverdueError
		if state := c.State(); state.Phase != controller.Syncing || !errors.As(state.Err, &late) {
			t.Errorf("%v: %v, want what it waits for", state.Phase, state.Err)
		}
		if calls := r.calls(); len(calls) != 0 {
			t.Errorf("reconciled %q before all was mapped", calls)
		}
		pass(31 * time.Second)
		if calls := r.calls(); len(calls) != 2 || c.State().Err != nil {
			t.Errorf("reconciled %q, %v", calls, c.State().Err)
		}
	})
}

// A mapping function that fails, for example on an index that has not synced, is called again until it succeeds.
// Other objects do not wait for it. It is called for every state of the object in between.
func TestFailingMapIsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var told problemList
		var synced atomic.Bool
		failed := errors.New("index not synced")
		h := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
			if !synced.Load() && p.Name == "bad" {
				return nil, failed
			}
			return []reconcile.Request{key("of-" + p.Name + "-" + p.ResourceVersion)}, nil
		})
		stop := start(newController(t, m, r.Reconcile, controller.Options{Hooks: told.hooks()}, controller.WithoutFor(), controller.Watches[corev1.Pod](h)))
		w := m.watch("Pod")
		w.set(pod("bad", 1, ""), true)
		close(w.synced)
		synctest.Wait()
		w.set(pod("bad", 2, ""), false)
		w.set(pod("good", 3, ""), false)
		w.set(pod("bad", 4, ""), false)
		w.remove(key("bad"))
		pass(time.Hour)
		if calls := r.calls(); !slices.Equal(calls, []string{"of-good-3 created×1"}) {
			t.Errorf("calls %q", calls)
		}
		if got := told.all(); len(got) == 0 || !errors.Is(got[0].Err, failed) || got[0].Part != "handler" {
			t.Errorf("problems %v", got)
		}
		synced.Store(true)
		pass(5 * time.Minute)
		calls := r.calls()
		for _, name := range []string{"of-bad-1", "of-bad-2", "of-bad-4"} {
			if !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, name+" ") }) {
				t.Errorf("calls %q; want %s among them", calls, name)
			}
		}
		n := len(told.all())
		pass(time.Hour)
		if got := told.all(); len(got) != n {
			t.Errorf("problems after all went well: %v", got[n:])
		}
		stop()
	})
}

// A mapping function is called again if it fails on one state while the other one is rejected.
func TestFailingMapIsCalledAgainBesideARejectedState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var works atomic.Bool
		h := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
			if !works.Load() && p.ResourceVersion == "2" {
				return nil, errors.New("not yet")
			}
			return []reconcile.Request{key("of-" + p.ResourceVersion)}, nil
		})
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h)))
		w := m.watch("Pod")
		close(w.synced)
		w.apply(key("a"), store.Rejected(object.Header{Key: key("a"), UID: "uid-of-a"}, errors.New("garbage")))
		w.set(pod("a", 2, ""), false)
		pass(time.Minute)
		works.Store(true)
		pass(5 * time.Minute)
		if calls := r.calls(); !slices.Equal(calls, []string{"of-2 updated×1"}) {
			t.Errorf("calls %q", calls)
		}
		stop()
	})
}

// The handler is called again for an object from outside on which it failed.
func TestGenericHandlerIsCalledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		ch := make(chan *corev1.Pod)
		var works atomic.Bool
		h := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
			if !works.Load() && p.Name == "bad" {
				return nil, errors.New("not yet")
			}
			return []reconcile.Request{key(p.Name)}, nil
		})
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Channel(ch, h)))
		ch <- pod("bad", 1, "")
		ch <- pod("good", 1, "")
		pass(time.Hour)
		works.Store(true)
		pass(5 * time.Minute)
		if calls := r.calls(); !slices.Equal(calls, []string{"good generic×1", "bad generic×1"}) {
			t.Errorf("calls %q", calls)
		}
		stop()
	})
}

// stuck is a controller whose handler hangs until it is released.
type stuck struct {
	*controller.Controller[reconcile.Request]
	calls   atomic.Int64 // of the handler
	round   func()       // changes each key once
	release func()
	stop    func() error
}

func newStuck(t *testing.T, keys int) *stuck {
	t.Helper()
	m, r := newManager(), &recorder{}
	hold := make(chan struct{})
	s := &stuck{release: sync.OnceFunc(func() { close(hold) })}
	h := handler.MapHeader(func(ctx context.Context, _ *object.Header) ([]reconcile.Request, error) {
		s.calls.Add(1)
		select {
		case <-hold:
		case <-ctx.Done():
		}
		return nil, nil
	})
	s.Controller = newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	s.stop = func() error {
		cancel()
		return <-done
	}
	w := m.watch("Pod")
	close(w.synced)
	for s.State().Phase != controller.Working {
		runtime.Gosched()
	}
	version := 0
	s.round = func() {
		for i := range keys {
			version++
			w.set(pod(fmt.Sprint("p", i), version, fmt.Sprint("owner", version)), false)
		}
	}
	return s
}

// A function that hangs costs one slot for each key, which holds a few events, whatever their number.
func TestHangingFunctionCostsOneSlotPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, rounds = 100, 200
		s := newStuck(t, keys)
		for range rounds {
			s.round()
		}
		synctest.Wait()
		if n := s.SourceFailures()[0].Backlog; n != keys || s.calls.Load() != 1 {
			t.Errorf("%d slots for %d keys, %d calls", n, keys, s.calls.Load())
		}
		s.release()
		synctest.Wait()
		const most = 10 // events of a slot, each with a call for the old state and one for the new
		if n := s.calls.Load(); n < keys || n > 2*most*keys || s.SourceFailures()[0].Backlog != 0 {
			t.Errorf("%d calls after %d events of %d keys", n, keys*rounds, keys)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

// The slots of a function that hangs do not grow with the number of events.
func TestHangingFunctionTakesNoMemory(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const keys, rounds = 100, 200
	s := newStuck(t, keys)
	for range 2 * 8 {
		s.round()
	}
	before := heaptest.Live()
	for range rounds {
		s.round()
	}
	if grown := heaptest.Live() - before; grown > keys*4096 {
		t.Errorf("%d bytes more after %d events of %d keys", grown, keys*rounds, keys)
	}
	s.release()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// The backlog of a source is the number of objects whose changes wait for the handler, whatever the changes are.
func TestBacklogCountsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		calls := make(chan struct{})
		h := handler.MapHeader(func(context.Context, *object.Header) ([]reconcile.Request, error) {
			<-calls
			return nil, nil
		})
		c := newController(t, m, r.Reconcile, controller.Options{}, controller.WithoutFor(), controller.Watches[corev1.Pod](h))
		stop := start(c)
		w := m.watch("Pod")
		close(w.synced)
		synctest.Wait()
		draw := rand.New(rand.NewPCG(1, 2))
		for range 50 {
			held := map[int]bool{}
			for version := range 1 + draw.IntN(40) {
				i := draw.IntN(10)
				held[i] = true
				w.set(pod(fmt.Sprint("p", i), 1+version, fmt.Sprint("owner", version)), false)
			}
			synctest.Wait()
			if got := c.SourceFailures()[0].Backlog; got != len(held) {
				t.Fatalf("backlog %d, want %d", got, len(held))
			}
			for c.SourceFailures()[0].Backlog > 0 {
				select {
				case calls <- struct{}{}:
				default:
					t.Fatal("no call of the handler, but a backlog")
				}
				synctest.Wait()
			}
			for i := range held {
				w.remove(key(fmt.Sprint("p", i)))
			}
			synctest.Wait()
			for c.SourceFailures()[0].Backlog > 0 {
				calls <- struct{}{}
				synctest.Wait()
			}
		}
		stop()
	})
}
