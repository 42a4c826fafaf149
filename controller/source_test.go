package controller_test

import (
	"context"
	"errors"
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
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

func problems(got *[]controller.Problem) controller.Hooks {
	var mu sync.Mutex
	return controller.Hooks{Problem: func(p controller.Problem) {
		mu.Lock()
		defer mu.Unlock()
		*got = append(*got, p)
	}}
}

func TestPredicatesFilterChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		even := predicate.New(predicate.Funcs[*corev1.Pod]{
			Update: func(_, new *corev1.Pod) bool { return (new.ResourceVersion[0]-'0')%2 == 0 },
		})
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, controller.For[corev1.Pod](predicate.InNamespace("web"), even)))
		w := m.watch("Pod")
		close(w.synced)
		for version := range 4 {
			w.set(pod("a", version+1, ""), false)
			synctest.Wait()
		}
		if got, want := r.calls(), []string{"a created×1", "a updated×1", "a updated×1"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
		stop()
	})
}

// A predicate that panics or cannot decode lets the event pass, and is reported.
func TestFailingPredicatePassesTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var got []controller.Problem
		panics := predicate.Func(func(c store.Change) bool { panic("oops") })
		no := predicate.Func(func(c store.Change) bool { return false })
		decodes := predicate.New(predicate.Funcs[*corev1.Pod]{Create: func(*corev1.Pod) bool { return false }})
		stop := start(newController(t, m, r.Reconcile, controller.Options{Hooks: problems(&got)},
			controller.For[corev1.Pod](panics, decodes),
			controller.Watches[corev1.Node](handler.Self(), panics, no)))
		close(m.watch("Pod").synced)
		close(m.watch("Node").synced)
		m.watch("Pod").change(key("a"), func(c *store.Change) {
			c.New = store.Rejected(object.Header{Key: key("a")}, errors.New("garbage"))
		})
		synctest.Wait()
		m.watch("Node").set(testobj.Node("n", numbered("n", 1)), false)
		synctest.Wait()
		if calls, want := r.calls(), []string{"a created×1"}; !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
		if len(got) != 3 || !got[0].Panicked || got[0].Source != "For(Pod)" || got[0].Part != "predicate" || got[1].Panicked || !got[2].Panicked {
			t.Errorf("problems %+v", got)
		}
		stop()
	})
}

// A handler that fails is called again with backoff, also for the events since. Other sources and objects do not
// wait for it.
func TestFailingHandlerIsCalledAgain(t *testing.T) {
	for name, fail := range map[string]func(){
		"panic": func() { panic("oops") },
		"error": func() {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newManager(), &recorder{}
				var got []controller.Problem
				var broken atomic.Bool
				broken.Store(true)
				h := failing{func(c store.Change) error {
					if broken.Load() && c.Key == key("bad") {
						fail()
						return errors.New("not now")
					}
					return nil
				}}
				stop := start(newController(t, m, r.Reconcile, controller.Options{Hooks: problems(&got)},
					forDeployments(), controller.Watches[corev1.Pod](h)))
				close(m.watch("Deployment").synced)
				close(m.watch("Pod").synced)
				m.watch("Pod").set(pod("bad", 1, ""), false)
				m.watch("Pod").set(pod("good", 1, ""), false)
				m.watch("Deployment").set(deployment("other", 1), false)
				synctest.Wait()
				calls, want := r.calls(), []string{"good created×1", "other created×1"}
				if slices.Sort(calls); !slices.Equal(calls, want) {
					t.Errorf("calls %q, want %q", calls, want)
				}
				pass(time.Minute)
				if n := len(got); n < 5 || n > 12 || got[0].Part != "handler" || got[0].Source != "Watches(Pod)" || got[0].Panicked != (name == "panic") {
					t.Errorf("%d problems in a minute, first %+v", n, got[0])
				}
				broken.Store(false)
				pass(2 * time.Minute)
				if calls := r.calls(); len(calls) != 3 || calls[2] != "bad created×1" {
					t.Errorf("calls %q; want bad at last", calls)
				}
				stop()
			})
		})
	}
}

// The owner that a child had between two failures of the handler is reconciled, too.
func TestOwnersBetweenTwoFailuresAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var broken atomic.Bool
		broken.Store(true)
		owners := handler.MapHeader(func(_ context.Context, h *object.Header) ([]reconcile.Request, error) {
			if len(h.Owners) == 0 {
				return nil, nil
			}
			return []reconcile.Request{key(h.Owners[0].Name)}, nil
		})
		h := mapping{owners, func() error {
			if broken.Load() {
				return errors.New("not now")
			}
			return nil
		}}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Watches[corev1.Pod](h)))
		close(m.watch("Deployment").synced)
		close(m.watch("Pod").synced)
		for version, owner := range []string{"p1", "p2", "p3"} {
			m.watch("Pod").set(pod("child", version+1, owner), false)
		}
		synctest.Wait()
		broken.Store(false)
		pass(time.Minute)
		for _, name := range []string{"p1", "p2", "p3"} {
			if calls := r.calls(); !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, name+" ") }) {
				t.Errorf("calls %q; want %s among them", calls, name)
			}
		}
		stop()
	})
}

// mapping is a handler that may fail before it adds anything.
type mapping struct {
	handler.Handler[reconcile.Request]
	fails func() error
}

func (m mapping) Handle(ctx context.Context, c store.Change, add func(reconcile.Request)) error {
	if err := m.fails(); err != nil {
		return err
	}
	return m.Handler.Handle(ctx, c, add)
}

// A handler that fails is called again until it succeeds, with five minutes between calls in the end.
func TestHandlerIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var calls atomic.Int32
		var works atomic.Bool
		h := failing{func(store.Change) error {
			if calls.Add(1); works.Load() {
				return nil
			}
			return errors.New("not yet")
		}}
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Watches[corev1.Pod](h)))
		close(m.watch("Deployment").synced)
		close(m.watch("Pod").synced)
		m.watch("Pod").set(pod("a", 1, ""), false)
		pass(24 * time.Hour)
		if n := calls.Load(); n < 24*12 || n > 24*12+20 {
			t.Errorf("called %d times in a day, want one in five minutes", n)
		}
		works.Store(true)
		pass(5 * time.Minute)
		if got := r.calls(); !slices.Equal(got, []string{"a created×1"}) {
			t.Errorf("calls %q, want one", got)
		}
		stop()
	})
}

// failing requests the object itself unless the test makes it fail.
type failing struct{ f func(store.Change) error }

func (h failing) Handle(_ context.Context, c store.Change, add func(reconcile.Request)) error {
	if err := h.f(c); err != nil {
		return err
	}
	add(c.Key)
	return nil
}

func (h failing) HandleGeneric(context.Context, object.Object, func(reconcile.Request)) error {
	return errors.New("not for this")
}

// mapped starts a controller whose second source maps a Pod "a" to the request "of-a".
func mapped(t *testing.T, m *manager, r *recorder, got *[]controller.Problem) (stop func() error) {
	t.Helper()
	h := handler.Map(func(_ context.Context, p *corev1.Pod) ([]reconcile.Request, error) {
		return []reconcile.Request{key("of-" + p.Name)}, nil
	})
	stop = start(newController(t, m, r.Reconcile, controller.Options{Hooks: problems(got)}, forDeployments(), controller.Watches[corev1.Pod](h)))
	close(m.watch("Deployment").synced)
	close(m.watch("Pod").synced)
	return stop
}

// The informer reports an object that cannot be decoded. A mapping function is called for its other state.
func TestRejectedObjectIsMappedByItsOtherState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var got []controller.Problem
		stop := mapped(t, m, r, &got)
		m.watch("Pod").set(pod("a", 1, ""), false)
		synctest.Wait()
		m.watch("Pod").change(key("a"), func(c *store.Change) {
			c.New = store.Rejected(object.Header{Key: key("a"), UID: "uid-of-a"}, errors.New("garbage"))
		})
		pass(time.Hour)
		if calls, want := r.calls(), []string{"of-a created×1", "of-a updated×1"}; !slices.Equal(calls, want) || len(got) != 0 {
			t.Errorf("calls %q, want %q; problems %v", calls, want, got)
		}
		stop()
	})
}

// An object of which only the header can be read is reported once for each version. The handler is not called
// again for it.
func TestUndecodableObjectIsReportedOncePerVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		var got []controller.Problem
		stop := mapped(t, m, r, &got)
		e, err := store.NewEntry(wire.Raw{
			Kind: &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("Pod")}, Encoding: wire.JSON,
			Bytes: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"web","name":"a","resourceVersion":"1"},"spec":7}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		m.watch("Pod").apply(key("a"), e)
		pass(time.Hour)
		if len(got) != 1 || got[0].Part != "handler" || len(r.calls()) != 0 {
			t.Errorf("problems %v, calls %q; want one problem", got, r.calls())
		}
		m.watch("Pod").set(pod("a", 2, ""), false)
		pass(time.Hour)
		if calls, want := r.calls(), []string{"of-a updated×1"}; !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
		stop()
	})
}

func TestChannelRequestsWhatItReceives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		ch := make(chan *corev1.Pod)
		var got []controller.Problem
		named := predicate.New(predicate.Funcs[*corev1.Pod]{Generic: func(p *corev1.Pod) bool { return p.Name != "filtered" }})
		stop := start(newController(t, m, r.Reconcile, controller.Options{Hooks: problems(&got)},
			controller.WithoutFor(),
			controller.Channel(ch, handler.Self(), named),
			controller.Channel(make(chan *corev1.Pod), handler.Self())))
		for _, p := range []*corev1.Pod{pod("a", 5, ""), nil, pod("filtered", 1, ""), pod("b", 6, "")} {
			ch <- p
			synctest.Wait()
		}
		if calls, want := r.calls(), []string{"a generic×1", "b generic×1"}; !slices.Equal(calls, want) || len(got) != 0 {
			t.Errorf("calls %q, want %q; problems %v", calls, want, got)
		}
		if c := r.seen[0]; c.Key != key("a") || c.ResourceVersion != "5" {
			t.Errorf("cause %+v", c)
		}
		close(ch)
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestFailureOnAnOutsideObjectIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		ch := make(chan *corev1.Pod)
		var got []controller.Problem
		stop := start(newController(t, m, r.Reconcile, controller.Options{Hooks: problems(&got)},
			forDeployments(), controller.Channel(ch, failing{})))
		close(m.watch("Deployment").synced)
		ch <- pod("a", 1, "")
		synctest.Wait()
		if len(got) != 1 || got[0].Source != "Channel(*v1.Pod)" || got[0].Err.Error() != "web/a: not for this" {
			t.Errorf("problems %+v", got)
		}
		stop()
	})
}

// A handler of changes takes no object from outside: New refuses it on a Channel.
func TestFuncTakesNoOutsideObject(t *testing.T) {
	m, r := newManager(), &recorder{}
	h := handler.Func(func(_ context.Context, c store.Change) ([]reconcile.Request, error) {
		return []reconcile.Request{c.Key}, nil
	})
	_, err := controller.NewWith(m, "test", r.Reconcile, controller.Options{}, controller.Watches[corev1.Pod](h), controller.WithoutFor(), controller.Channel(make(chan *corev1.Pod), h))
	if bad, ok := errors.AsType[*option.Error](err); !ok || !strings.HasPrefix(bad.Field, "Channel") || !errors.Is(err, handler.ErrNoGeneric) {
		t.Errorf("New = %v", err)
	}
}

// shard is a request of another type.
type shard struct {
	Tenant string
	Number int
}

// Requests may be of any comparable type. Their function is called again if it fails.
func TestRequestsOfAnyComparableType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager()
		var got []controller.Problem
		var seen []shard
		r := func(_ context.Context, s shard) (reconcile.Result, error) {
			seen = append(seen, s)
			return reconcile.Result{}, nil
		}
		rounds := 0
		feed := func(ctx context.Context, add func(shard)) error {
			add(shard{"acme", rounds})
			switch rounds++; rounds {
			case 1:
				return errors.New("stream broke")
			case 2:
				panic("oops")
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		byName := handler.MapHeader(func(_ context.Context, h *object.Header) ([]shard, error) { return []shard{{h.Name, -1}}, nil })
		stop := start(newController(t, m, r, controller.Options{Hooks: problems(&got)},
			controller.Requests(feed), controller.Watches[corev1.Pod](byName)))
		close(m.watch("Pod").synced)
		m.watch("Pod").set(pod("zeta", 1, ""), false)
		pass(time.Minute)
		slices.SortFunc(seen, func(a, b shard) int { return a.Number - b.Number })
		if want := []shard{{"zeta", -1}, {"acme", 0}, {"acme", 1}, {"acme", 2}}; !slices.Equal(seen, want) {
			t.Errorf("saw %v, want %v", seen, want)
		}
		if len(got) != 2 || got[0].Part != "source" || got[0].Panicked || !got[1].Panicked {
			t.Errorf("problems %+v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// One change counts once for each request that it causes, also if both of its states cause the request.
func TestOneChangeCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := newManager(), &recorder{}
		h := handler.MapHeader(func(_ context.Context, h *object.Header) ([]reconcile.Request, error) {
			return []reconcile.Request{key("a"), key("v" + h.ResourceVersion), key("b"), key("a"), key("b")}, nil
		})
		stop := start(newController(t, m, r.Reconcile, controller.Options{}, forDeployments(), controller.Watches[corev1.Pod](h)))
		close(m.watch("Deployment").synced)
		close(m.watch("Pod").synced)
		pass(time.Second)
		m.watch("Pod").set(pod("p", 1, ""), false)
		pass(time.Second)
		m.watch("Pod").set(pod("p", 2, ""), false)
		pass(time.Second)
		stop()
		slices.Sort(r.begun)
		want := []string{"a created×1", "a updated×1", "b created×1", "b updated×1", "v1 created×1", "v1 updated×1", "v2 updated×1"}
		if !slices.Equal(r.begun, want) {
			t.Errorf("%q, want %q", r.begun, want)
		}
	})
}
