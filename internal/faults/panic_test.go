package faults_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// panics counts panics by place.
type panics struct {
	mu       sync.Mutex
	parts    map[string]int
	attempts []time.Time // of the reconcile that panics
}

func (p *panics) note(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts[part]++
}

func (p *panics) has(parts ...string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range parts {
		if p.parts[part] == 0 {
			return false
		}
	}
	return true
}

// All functions of the user panic for one object. That object is reported, and nothing else is
// affected.
func TestFault22Panics(t *testing.T) {
	world(t, func(t *testing.T, server *servertest.Server) {
		const bad = "poison"
		p := &panics{parts: map[string]int{}}
		boom := func(name string) {
			if strings.HasPrefix(name, bad) {
				panic("by " + name)
			}
		}
		var reg *informer.Registration
		done := make(chan int, 100)
		r := start(t, server, setup{
			manager: flyball.Options{Cache: cache.Options{Kinds: []cache.KindOptions{{
				Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
				Transform: informer.Transform(func(o *corev1.ConfigMap) error {
					if o.Name == bad+"-transform" {
						boom(o.Name)
					}
					return nil
				}),
			}}}},
			also: func(r *rig) {
				must(t, cache.IndexField(r.mgr.Cache(), "value", func(o *corev1.ConfigMap) []string {
					if o.Name == bad+"-index" {
						boom(o.Name)
					}
					return []string{o.Data["i"]}
				}))
				var err error
				reg, err = informer.AddHandler(r.kind.Informer(), informer.Handler[corev1.ConfigMap]{
					Name:  "panicking",
					OnAdd: func(o *corev1.ConfigMap, _ bool) { boom(o.Name) },
				})
				must(t, err)
				_, err = r.kind.Informer().Subscribe("panicking source", func(c store.Change) { boom(c.Key.Name) })
				must(t, err)
				broken := func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
					if req.Name != bad {
						return reconcile.Result{}, nil
					}
					p.mu.Lock()
					p.attempts = append(p.attempts, time.Now())
					n := len(p.attempts)
					p.mu.Unlock()
					if n < 5 {
						boom(req.Name)
					}
					done <- n
					return reconcile.Result{}, nil
				}
				_, err = controller.NewWith(r.mgr, "panicking", broken,
					controller.Options{Hooks: controller.Hooks{
						Problem: func(x controller.Problem) {
							if x.Panicked {
								p.note(x.Part)
							}
						},
						Reconciled: func(x controller.Reconciled) {
							if _, ok := errors.AsType[*run.PanicError](x.Err); ok && x.Panicked {
								p.note("reconciler")
							}
						},
					}},
					controller.For[corev1.ConfigMap](predicate.Func(func(c store.Change) bool { boom(c.Key.Name); return true })),
					controller.Watches[corev1.ConfigMap](handler.Map(func(_ context.Context, o *corev1.ConfigMap) ([]reconcile.Request, error) {
						boom(o.Name)
						return nil, nil
					})))
				must(t, err)
			},
		})
		var made []*corev1.ConfigMap
		for _, name := range []string{bad, bad + "-transform", bad + "-index"} {
			o, err := client.Create(t.Context(), r.direct, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name}})
			must(t, err)
			made = append(made, o)
		}
		r.churn(40)
		ctx, cancel := context.WithTimeout(t.Context(), hung)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
			t.Fatal("the reconcile that panicked is not tried again")
		}
		all := []string{"reconciler", "predicate", "handler"}
		if !r.state.await(ctx, func() bool { return p.has(all...) && reg.Stats().Panics > 0 && len(r.kind.Informer().Rejected()) == 2 }) {
			t.Errorf("panics %v, of the handler %d, rejected %+v", p.parts, reg.Stats().Panics, r.kind.Informer().Rejected())
		}
		for _, a := range r.kind.Informer().Rejected() {
			if _, ok := errors.AsType[*run.PanicError](a.Err); !ok {
				t.Errorf("%s: %v", a.Key, a.Err)
			}
		}
		for i := 1; i < len(p.attempts); i++ {
			if d, least := p.attempts[i].Sub(p.attempts[i-1]), 5*time.Millisecond<<(i-1); d < least {
				t.Errorf("attempt %d came after %v, want %v", i+1, d, least)
			}
		}
		named := map[string]bool{}
		for _, x := range r.reported() {
			named[x.Handler+" "+x.Key.Name] = true
		}
		for _, want := range []string{"panicking " + bad, "panicking source " + bad, " " + bad + "-transform", " " + bad + "-index"} {
			if !named[want] {
				t.Errorf("%q is not reported: %v", want, named)
			}
		}
		for _, o := range made {
			must(t, client.Delete(t.Context(), r.direct, o))
			r.book.Deleted(object.KeyOf(o), o.UID)
		}
		r.nothingLost()
	})
}
