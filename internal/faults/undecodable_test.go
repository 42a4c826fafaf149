package faults_test

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

// Gauge is the program's type of the custom kind. The server's schema differs: it also accepts a
// text as size.
type Gauge struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size int `json:"size"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (g *Gauge) DeepCopyObject() runtime.Object {
	c := *g
	c.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &c
}

// GaugeList is a list of Gauges.
type GaugeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gauge `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *GaugeList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*Gauge))
	}
	return &c
}

// One object of the first list cannot be decoded, and one of the watch. All other objects of the
// kind are present and stay current. Both are reported with their keys, until they can be decoded.
func TestFault24UndecodableObjects(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		gvk, crd := custom("gauges", "Gauge")
		types := scheme.New()
		types.AddKnownTypes(gvk.GroupVersion(), &Gauge{}, &GaugeList{})
		book := ledger.New()
		told, reconciled := book.View("gauges told"), book.View("gauges reconciled")
		put := func(r *rig, name string, size any) *unstructured.Unstructured {
			t.Helper()
			o, err := client.Create(t.Context(), r.direct, instance(gvk, r.ns, name, map[string]any{"size": size}))
			must(t, err)
			return o
		}
		var inf *informer.Informer
		r := start(t, p, setup{manager: flyball.Options{Scheme: types}, also: func(r *rig) {
			define(r, gvk, crd)
			book.Wrote(put(r, "a", int64(1)))
			put(r, "bad-in-list", "large")
			book.Wrote(put(r, "c", int64(3)))
			h, err := r.mgr.Cache().Open(t.Context(), &Gauge{}, client.Selection{})
			must(t, err)
			inf = h.Informer()
			_, err = informer.AddHandler(inf, informer.Handler[Gauge]{
				OnAdd:    func(o *Gauge, _ bool) { told.Saw(o) },
				OnUpdate: func(_, o *Gauge) { told.Saw(o) },
				OnDelete: func(o *Gauge, _ bool) { told.Gone(object.KeyOf(o)) },
			})
			must(t, err)
			_, err = controller.New(r.mgr, "gauges", func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				o, err := client.Get[Gauge](ctx, r.mgr.Client(), req)
				if err != nil {
					return reconcile.Result{}, reconcile.Terminal(err)
				}
				reconciled.Saw(o)
				return reconcile.Result{}, nil
			}, controller.For[Gauge]())
			must(t, err)
		}})
		wait := func(rejected ...string) {
			t.Helper()
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errLate)
			defer cancel()
			if err := book.Wait(ctx); err != nil {
				t.Fatalf("%v\n%v", err, inf.State())
			}
			same := func() bool {
				all := inf.Rejected()
				for i, name := range rejected {
					if len(all) != len(rejected) || all[i].Key != (object.Key{Namespace: r.ns, Name: name}) || all[i].Err == nil {
						return false
					}
				}
				return len(all) == len(rejected)
			}
			if !r.state.await(ctx, same) {
				t.Fatalf("rejected: %+v, want %v", inf.Rejected(), rejected)
			}
		}
		wait("bad-in-list")
		book.Wrote(put(r, "d", int64(4)))
		bad := put(r, "e", int64(5))
		book.Wrote(bad)
		wait("bad-in-list")
		unstructured.SetNestedField(bad.Object, "huge", "spec", "size")
		bad, err := client.Update(t.Context(), r.direct, bad) // its last valid state is the one that observers saw
		must(t, err)
		book.Wrote(put(r, "f", int64(6)))
		wait("bad-in-list", "e")

		_, err = client.Get[Gauge](t.Context(), r.mgr.Client(), object.Key{Namespace: r.ns, Name: "e"})
		if rejected, ok := errors.AsType[*store.RejectedError](err); !ok || rejected.Key.Name != "e" {
			t.Errorf("a read of what cannot be decoded: %v", err)
		}
		reported := map[string]bool{}
		for _, p := range r.reported() {
			reported[p.Key.Name] = true
		}
		if !reported["bad-in-list"] || !reported["e"] || len(reported) != 2 {
			t.Errorf("reported: %+v", r.reported())
		}

		// Both become decodable.
		unstructured.SetNestedField(bad.Object, int64(7), "spec", "size")
		bad, err = client.Update(t.Context(), r.direct, bad)
		must(t, err)
		book.Wrote(bad)
		mended, err := client.Patch(t.Context(), r.direct, instance(gvk, r.ns, "bad-in-list", nil), client.MergePatch(map[string]any{"spec": map[string]any{"size": 2}}))
		must(t, err)
		book.Wrote(mended)
		wait()
		r.nothingLost()
	})
}
