package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
	"github.com/flyball-io/flyball/workqueue"
)

// The tests here are about what frameworks have had wrong, not operators. Two such courses of events are missing: a delete
// that only a list shows after a write of the program, and a write that is answered after the deletion was seen. They need
// a cache that takes in the program's own writes, which there is not.

// frameworkIsRight checks a scenario: all single faults, and pairs of them.
func frameworkIsRight(t *testing.T, s sim.Scenario) {
	t.Helper()
	passes(t, s, time.Now())
}

// copies is a reconcile that keeps the value x of the custom resource in a Secret.
func copies(k kit) error {
	if k.deleted() {
		return nil
	}
	s, err := k.get("a-copy")
	switch {
	case err != nil:
		return err
	case s == nil:
		return k.create("a-copy", "x", k.want("x"))
	case string(s.Data["x"]) == k.want("x"):
		return nil
	}
	return k.put(s, "x", k.want("x"))
}

// copied says that the copy is that of the present value.
var copied = sim.Holds("the last value is copied", func(ctx context.Context, cfg *rest.Config) error {
	cm, s, err := read(ctx, cfg, "a-copy")
	if err != nil || cm == nil || cm.Data["bad"] == "yes" {
		return err
	}
	if s == nil {
		return errors.New("there is no copy")
	}
	if got, want := string(s.Data["x"]), cm.Data["x"]; got != want {
		return fmt.Errorf("the copy is %q, want %q", got, want)
	}
	return nil
})

// A user edits the spec while the program writes a status that changes nothing. The edit is handled (java-operator-sdk
// 3484).
func TestEditDuringAWriteThatChangesNothing(t *testing.T) {
	edits := func(k kit) error {
		if k.deleted() || k.want("next") == "" || k.want("next") == k.want("x") {
			return nil
		}
		_, err := client.Patch(k.ctx, k.c, k.cm, client.MergePatch(fmt.Sprintf(`{"data":{"x":%q}}`, k.want("next"))))
		return client.IgnoreNotFound(err)
	}
	frameworkIsRight(t, sim.Scenario{
		Program: program(func(m *flyball.Manager) error {
			return operator(m, func(k kit) error {
				if k.deleted() {
					return nil
				}
				if _, err := client.Patch(k.ctx, k.c, k.cm, client.MergePatch(`{"metadata":{"annotations":{"seen":"yes"}}}`)); err != nil {
					return client.IgnoreNotFound(err)
				}
				return copies(k)
			})
		}),
		Others: map[string]func(context.Context, *rest.Config) error{
			"user": program(func(m *flyball.Manager) error { return operator(m, edits) }),
		},
		Steps:   []sim.Step{app("a", `"x":"1"`, ""), set("a", `"next":"2"`), set("a", `"next":"3"`)},
		Settled: []sim.Invariant{copied},
	})
}

// A child that drops its owner, or takes another one, is news for the owner that it had.
func TestOldOwnerIsReconciled(t *testing.T) {
	counts := func(k kit) error {
		if k.deleted() {
			return nil
		}
		n := 0
		for s, err := range client.List[corev1.Secret](k.ctx, k.c, client.InNamespace(k.key.Namespace)) {
			if err != nil {
				return err
			}
			if metav1.IsControlledBy(s, k.cm) {
				n++
			}
		}
		return k.note("children", strconv.Itoa(n))
	}
	frameworkIsRight(t, sim.Scenario{
		Program: program(func(m *flyball.Manager) error { return operator(m, counts, controller.Owns[corev1.Secret]()) }),
		Steps: []sim.Step{
			sim.Together(app("a", `"x":"y"`, ""), app("b", `"x":"y"`, ""), sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}`)),
			owned("a"), owned("b"), owned(""), owned("b"),
		},
		Settled: []sim.Invariant{sim.Holds("the owners know their children", func(ctx context.Context, cfg *rest.Config) error {
			c, err := client.New(cfg, client.Options{})
			if err != nil {
				return err
			}
			s, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: "s"})
			if err != nil {
				return err
			}
			for _, name := range []string{"a", "b"} {
				cm, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: name})
				if err != nil {
					return err
				}
				if want := map[bool]string{true: "1", false: "0"}[metav1.IsControlledBy(s, cm)]; cm.Annotations["children"] != want {
					return fmt.Errorf("%s knows of %s children, want %s", name, cm.Annotations["children"], want)
				}
			}
			return nil
		})},
	})
}

// owned is a step in which the Secret s gets the custom resource of a name as its controller; "" means none.
func owned(name string) sim.Step {
	return sim.Do("s gets the owner "+strconv.Quote(name), func(ctx context.Context, cfg *rest.Config) error {
		c, err := client.New(cfg, client.Options{})
		if err != nil {
			return err
		}
		s, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: "s"})
		if err != nil {
			return err
		}
		s.OwnerReferences = nil
		if name != "" {
			cm, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: name})
			if err != nil {
				return err
			}
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cm, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
		}
		_, err = client.Update(ctx, c, s)
		return err
	})
}

// While a key fails there is an event every 100 ms. Its backoff grows at its own deadlines only. The event that mends the
// cause is handled at once, and not at the end of the backoff (zookeeper-operator 1049).
func TestBackoffOfAKeyWithManyEvents(t *testing.T) {
	frameworkIsRight(t, sim.Scenario{
		Program: strict(func(m *flyball.Manager, wrong func(any)) error {
			failing := make(chan reconcile.Request, 1)
			do := func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
				cm, err := client.Get[corev1.ConfigMap](ctx, m.Client(), key)
				if err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				if cm.Data["bad"] == "yes" {
					select {
					case failing <- key:
					default:
					}
					return reconcile.Result{}, errors.New("bad")
				}
				if cm.Labels["kind"] != "app" {
					return reconcile.Result{}, nil
				}
				return reconcile.Result{}, copies(kit{ctx: ctx, c: m.Client(), live: m.Live(), key: key, cm: cm})
			}
			o := controller.Options{RateLimiter: func() workqueue.RateLimiter[any] {
				return &deadlines{RateLimiter: workqueue.ExponentialLimiter[any](30*time.Second, time.Hour), wrong: wrong, over: map[any]time.Time{}}
			}}
			events := func(ctx context.Context, add func(reconcile.Request)) error {
				for {
					var key reconcile.Request
					select {
					case key = <-failing:
					case <-ctx.Done():
						return nil
					}
					for range 50 {
						select {
						case <-time.After(100 * time.Millisecond):
							add(key)
						case <-ctx.Done():
							return nil
						}
					}
					select { // it has failed meanwhile
					case <-failing:
					default:
					}
				}
			}
			_, err := controller.NewWith(m, "operator", do, o, controller.For[corev1.ConfigMap](), controller.Requests(events))
			return err
		}),
		Steps:   []sim.Step{app("a", `"x":"1"`, ""), set("a", `"bad":"yes","x":"2"`), set("a", `"bad":"no"`), set("a", `"x":"3"`)},
		Settled: []sim.Invariant{copied},
	})
}

// deadlines is a limiter that is asked for the next delay of a key only when the last one is over.
type deadlines struct {
	workqueue.RateLimiter[any]
	wrong func(any)
	over  map[any]time.Time
}

func (d *deadlines) When(key any, now time.Time) time.Duration {
	if left := d.over[key].Sub(now); left > 0 {
		d.wrong(fmt.Sprintf("the backoff of %v grows %v before its deadline", key, left))
	}
	wait := d.RateLimiter.When(key, now)
	d.over[key] = now.Add(wait)
	return wait
}

func (d *deadlines) Forget(key any) {
	delete(d.over, key)
	d.RateLimiter.Forget(key)
}

// Of a burst of events the last state is handled, and no key runs twice at a time.
func TestBurstOfEvents(t *testing.T) {
	var burst []sim.Step
	for i := range 8 {
		burst = append(burst, set("a", fmt.Sprintf(`"x":"%d"`, i)), set("b", fmt.Sprintf(`"x":"%d"`, i)))
	}
	frameworkIsRight(t, sim.Scenario{
		Program: strict(func(m *flyball.Manager, wrong func(any)) error {
			var mu sync.Mutex
			runs := map[reconcile.Request]bool{}
			mark := func(key reconcile.Request, run bool) {
				mu.Lock()
				defer mu.Unlock()
				if run && runs[key] {
					wrong(fmt.Sprintf("%v runs twice at a time", key))
				}
				runs[key] = run
			}
			return operatorWith(m, controller.Options{Workers: 4}, func(k kit) error {
				mark(k.key, true)
				defer mark(k.key, false)
				if k.key.Name != "a" {
					return nil
				}
				return copies(k)
			})
		}),
		Steps:   []sim.Step{sim.Together(app("a", `"x":"y"`, ""), app("b", `"x":"y"`, "")), sim.Together(burst...), set("a", `"x":"last"`)},
		Settled: []sim.Invariant{copied},
	})
}

// The owner goes while the operator is down. Its children with a finalizer are found at the start, and released.
func TestOwnerGoesWhileTheOperatorIsDown(t *testing.T) {
	releases := func(k kit) error {
		s, err := k.get(k.key.Name + "-child")
		switch {
		case err != nil:
			return err
		case !k.deleted() && s == nil:
			_, err = k.createOne(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.key.Name + "-child", Finalizers: []string{"sim.dev/f"}}})
			return err
		case s == nil || !k.deleted() && s.DeletionTimestamp == nil || len(s.Finalizers) == 0:
			return nil
		}
		s.Finalizers = nil
		_, err = client.Update(k.ctx, k.c, s)
		return client.IgnoreNotFound(err)
	}
	frameworkIsRight(t, sim.Scenario{
		Program: whileUp(func(m *flyball.Manager) error { return operator(m, releases, sources(true)...) }),
		Steps:   []sim.Step{sim.Together(up, app("a", `"x":"y"`, "")), down, sim.Delete("configmaps", "default/a"), up},
		Keep:    []string{"secrets"}, // a program that goes down late has released it before
		Settled: []sim.Invariant{sim.Holds("no child is left", func(ctx context.Context, cfg *rest.Config) error {
			cm, child, err := read(ctx, cfg, "a-child")
			if err != nil || cm != nil || child == nil {
				return err
			}
			c, err := client.New(cfg, client.Options{})
			if err != nil {
				return err
			}
			if _, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "up"}); err != nil {
				return client.IgnoreNotFound(err)
			}
			return errors.New("the child is left, although the operator runs")
		})},
	})
}

// up and down are steps after which the operator of whileUp runs, or does not.
var (
	up   = sim.ApplyText(`{apiVersion: v1, kind: ConfigMap, metadata: {name: up, namespace: default}}`)
	down = sim.Delete("configmaps", "default/up")
)

// whileUp returns a program that runs an operator while there is the ConfigMap up.
func whileUp(add func(*flyball.Manager) error, options ...func(*flyball.Options)) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		options := append(options, func(o *flyball.Options) { o.Name = "inner" })
		var stop func()
		defer func() {
			if stop != nil {
				stop()
			}
		}()
		return program(func(m *flyball.Manager) error {
			_, err := controller.New(m, "switch", func(read context.Context, key reconcile.Request) (reconcile.Result, error) {
				if key.Name != "up" {
					return reconcile.Result{}, nil
				}
				_, err := client.Get[corev1.ConfigMap](read, m.Client(), key)
				switch {
				case client.IgnoreNotFound(err) != nil:
					return reconcile.Result{}, err
				case err == nil && stop == nil:
					inner, cancel := context.WithCancel(ctx)
					done := make(chan struct{})
					stop = func() { cancel(); <-done }
					go func() {
						defer close(done)
						_ = program(add, options...)(inner, cfg)
					}()
				case err != nil && stop != nil:
					stop()
					stop = nil
				}
				return reconcile.Result{}, nil
			}, controller.For[corev1.ConfigMap]())
			return err
		})(ctx, cfg)
	}
}

// A list in pages has all objects, whatever the size of a page, and also if its token expires in the middle (kube-rs
// 0.92.0).
func TestPagedLists(t *testing.T) {
	const secrets = 3
	counts := func(k kit) error {
		if k.deleted() {
			return nil
		}
		all, err := k.all()
		if err != nil {
			return err
		}
		return k.note("children", strconv.Itoa(len(all)))
	}
	first := []sim.Step{app("a", `"x":"y"`, "")}
	for i := range secrets {
		first = append(first, sim.ApplyText(fmt.Sprintf(`{apiVersion: v1, kind: Secret, metadata: {name: s%d, namespace: default, labels: {of: a}}}`, i)))
	}
	for size := 1; size <= secrets+1; size++ {
		if sim.Small && size != 2 {
			continue
		}
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			frameworkIsRight(t, sim.Scenario{
				Program: whileUp(func(m *flyball.Manager) error { return operator(m, counts, sources(true)...) }, func(o *flyball.Options) {
					o.Cache.Configure = func(o *informer.Options) {
						o.Reflector.Paged, o.Reflector.PageSize = true, int64(size)
					}
				}),
				Steps: []sim.Step{sim.Together(first...), up, sim.Together(sim.Delete("secrets", "default/s0"), sim.Delete("secrets", "default/s2"))},
				Settled: []sim.Invariant{sim.Holds("the cache has as many objects as the server", func(ctx context.Context, cfg *rest.Config) error {
					cm, _, err := read(ctx, cfg, "none")
					if err != nil || cm == nil || cm.Annotations["children"] == "" {
						return err
					}
					c, err := client.New(cfg, client.Options{})
					if err != nil {
						return err
					}
					n := 0
					for _, err := range client.List[corev1.Secret](ctx, c, client.InNamespace("default")) {
						if err != nil {
							return err
						}
						n++
					}
					if got := cm.Annotations["children"]; got != strconv.Itoa(n) {
						return fmt.Errorf("the cache has %s objects, the server %d", got, n)
					}
					return nil
				})},
			})
		})
	}
}

// Two programs fight over an object for a while. The last event of the fight is handled (Crossplane 6910 and others).
func TestLastEventOfAFight(t *testing.T) {
	const rounds = 3
	frameworkIsRight(t, sim.Scenario{
		Program: program(func(m *flyball.Manager) error {
			return operator(m, func(k kit) error {
				if err := copies(k); err != nil {
					return err
				}
				_, err := client.Get[corev1.ConfigMap](k.ctx, k.live, k.key) // meanwhile the rival may answer
				return client.IgnoreNotFound(err)
			}, sources(true)...)
		}),
		Others: map[string]func(context.Context, *rest.Config) error{
			"rival": program(func(m *flyball.Manager) error {
				return operator(m, func(k kit) error {
					s, err := k.get("a-copy")
					if err != nil || s == nil || string(s.Data["x"]) == "rival" {
						return err
					}
					n, err := strconv.Atoi(string(s.Data["round"]) + "0")
					if n /= 10; err != nil || n >= rounds {
						return err
					}
					s.Data["round"] = []byte(strconv.Itoa(n + 1))
					return k.put(s, "x", "rival")
				}, sources(true)...)
			}),
		},
		Steps:   []sim.Step{app("a", `"x":"1"`, ""), set("a", `"x":"2"`)},
		Settled: []sim.Invariant{copied},
	})
}
