package faults_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

const (
	ours    = "faults.flyball.test/ours"
	another = "faults.flyball.test/another"
)

// keeper makes a Secret for each ConfigMap with our finalizer, and removes the finalizer when the
// ConfigMap is being deleted.
type keeper struct {
	r *rig

	mu      sync.Mutex
	runs    map[string]int
	refused int // rejected creates in the namespace under deletion
}

func (k *keeper) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	o, err := client.Get[corev1.ConfigMap](ctx, k.r.mgr.Client(), req)
	if err != nil || !strings.HasPrefix(req.Name, "kept") {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	k.mu.Lock()
	k.runs[req.Name]++
	k.mu.Unlock()
	if i := slices.Index(o.Finalizers, ours); i >= 0 && o.DeletionTimestamp != nil {
		next := o.DeepCopy()
		next.Finalizers = slices.Delete(next.Finalizers, i, i+1)
		if _, err := client.Patch(ctx, k.r.mgr.Client(), next, client.DiffWithLock(o, next)); client.IgnoreNotFound(err) != nil {
			return reconcile.Result{}, err
		}
	}
	_, err = client.Create(ctx, k.r.mgr.Client(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name}})
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.refused++
		return reconcile.Result{}, reconcile.Terminal(err)
	}
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return reconcile.Result{}, err
}

// A namespace is being deleted, and an object in it takes long to go.
func TestFault27NamespaceBeingDeleted(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		k := &keeper{runs: map[string]int{}}
		r := start(t, p, setup{also: func(r *rig) {
			k.r = r
			_, err := controller.New(r.mgr, "keeper", k.Reconcile, controller.For[corev1.ConfigMap]())
			must(t, err)
		}})
		var kept []*corev1.ConfigMap
		for name, finalizers := range map[string][]string{"kept-1": {ours}, "kept-2": {ours, another}} {
			o, err := client.Create(t.Context(), r.direct, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name, Finalizers: finalizers}})
			must(t, err)
			r.book.Wrote(o)
			kept = append(kept, o)
		}
		r.seen()
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.ns}}
		must(t, client.Delete(t.Context(), r.direct, ns))

		// Our finalizers are removed although nothing can be created there.
		ctx, cancel := context.WithTimeout(t.Context(), hung)
		defer cancel()
		left := func() *corev1.ConfigMap {
			o, err := client.Get[corev1.ConfigMap](ctx, r.direct, object.Key{Namespace: r.ns, Name: "kept-2"})
			must(t, err)
			return o
		}
		if !r.state.await(ctx, func() bool { return slices.Equal(left().Finalizers, []string{another}) }) {
			t.Fatalf("our finalizer stays: %v", left().Finalizers)
		}
		// The namespace stays like this for a while. The program does not retry all the time.
		pass(t.Context(), span(time.Minute, 3*time.Second))
		k.mu.Lock()
		runs, refused := k.runs["kept-2"], k.refused
		k.mu.Unlock()
		if runs > 10 || refused == 0 {
			t.Errorf("%d reconciles of what cannot be done, %d creates refused", runs, refused)
		}

		last := left()
		last.Finalizers = nil
		_, err := client.Update(t.Context(), r.direct, last)
		must(t, err)
		for _, o := range kept {
			r.book.Deleted(object.KeyOf(o), o.UID)
		}
		for _, w := range r.writers {
			for _, o := range w.mine {
				w.gone(o)
			}
		}
		r.nothingLost()
	})
}
