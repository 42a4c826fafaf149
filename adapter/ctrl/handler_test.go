package ctrl_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	flypredicate "github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/store"
)

// queue is the queue that handlers get.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// told writes down the events that a handler gets.
func told(to *[]string) handler.Funcs {
	note := func(format string, args ...any) { *to = append(*to, fmt.Sprintf(format, args...)) }
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			note("create %s%s initial=%v", e.Object.GetUID(), e.Object.GetResourceVersion(), e.IsInInitialList)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			note("update %s%s→%s", e.ObjectOld.GetUID(), e.ObjectOld.GetResourceVersion(), e.ObjectNew.GetResourceVersion())
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			note("delete %s%s unknown=%v", e.Object.GetUID(), e.Object.GetResourceVersion(), e.DeleteStateUnknown)
		},
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { note("generic %s", e.Object.GetName()) },
	}
}

// entry is a state of a ConfigMap: "u1" is its uid, and 1 its version and the value of its label.
func entry(uid string, version int) *store.Entry {
	return testobj.Entry(testobj.ConfigMap("ns/a", testobj.UID(types.UID(uid)), testobj.Version(fmt.Sprint(version)), testobj.Labels(fmt.Sprintf("n=%d", version))))
}

// Each change is told in the events of controller-runtime, and the predicates decide about each of them.
func TestChangesAsEvents(t *testing.T) {
	one, two, other := entry("u", 1), entry("u", 2), entry("v", 3)
	broken := store.Rejected(object.Header{Key: one.Key(), UID: "u", ResourceVersion: "4"}, fmt.Errorf("broken"))
	for name, tc := range map[string]struct {
		change  store.Change
		want    string
		stopped string // with a predicate that stops deletes and updates
		fails   bool
	}{
		"initial":         {store.Change{New: one, Initial: true}, "create u1 initial=true", "create u1 initial=true", false},
		"created":         {store.Change{New: one}, "create u1 initial=false", "create u1 initial=false", false},
		"updated":         {store.Change{Old: one, New: two}, "update u1→2", "", false},
		"resynced":        {store.Change{Old: one, New: one, Resync: true}, "update u1→1", "", false},
		"reset":           {store.Change{Old: two, New: one, Reset: true}, "update u2→1", "update u2→1", false},
		"deleted":         {store.Change{Old: one, Last: two}, "delete u2 unknown=false", "", false},
		"missed":          {store.Change{Old: one, Last: one, Missed: true}, "delete u1 unknown=true", "", false},
		"came and went":   {store.Change{Last: one}, "delete u1 unknown=false", "", false},
		"replaced":        {store.Change{Old: one, New: other}, "delete u1 unknown=true, create v3 initial=false", "create v3 initial=false", false},
		"two ended":       {store.Change{Old: one, Last: other}, "delete u1 unknown=true, delete v3 unknown=false", "", false},
		"breaks":          {store.Change{Old: one, New: broken}, "", "", true},
		"is usable again": {store.Change{Old: broken, New: two}, "create u2 initial=false", "create u2 initial=false", false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.change.Key = one.Key()
			var got []string
			h := flyctrl.HandlerOf[corev1.ConfigMap](told(&got))
			if err := h.Handle(t.Context(), tc.change, nil); (err != nil) != tc.fails || strings.Join(got, ", ") != tc.want {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
			got = nil
			only := predicate.Funcs{DeleteFunc: func(event.DeleteEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false }}
			h = flyctrl.HandlerOf[corev1.ConfigMap](told(&got), only)
			if err := h.Handle(t.Context(), tc.change, nil); (err != nil) != tc.fails || strings.Join(got, ", ") != tc.stopped {
				t.Errorf("with a predicate got %q, %v, want %q", got, err, tc.stopped)
			}
			p := flyctrl.Predicate[corev1.ConfigMap](predicate.Predicate(only))
			if ok, err := p.Match(tc.change); ok != (tc.stopped != "" || tc.fails) || (err != nil) != tc.fails {
				t.Errorf("the predicate alone says %v, %v", ok, err)
			}
		})
	}
	var got []string
	h := flyctrl.HandlerOf[corev1.ConfigMap](told(&got), predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == "b" }))
	for _, name := range []string{"a", "b"} {
		must(t, h.HandleGeneric(t.Context(), configMap("ns", name), nil))
	}
	if !slices.Equal(got, []string{"generic b"}) {
		t.Errorf("generic events %q", got)
	}
}

// The predicates of controller-runtime decide as they do there, alone and combined.
func TestPredicates(t *testing.T) {
	selector, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"n": "2"}})
	must(t, err)
	change := store.Change{Key: entry("u", 1).Key(), Old: entry("u", 1), New: entry("u", 2)}
	for name, tc := range map[string]struct {
		p    predicate.Predicate
		want bool
	}{
		"generation":  {predicate.GenerationChangedPredicate{}, false},
		"labels":      {predicate.LabelChangedPredicate{}, true},
		"annotations": {predicate.AnnotationChangedPredicate{}, false},
		"version":     {predicate.ResourceVersionChangedPredicate{}, true},
		"selector":    {selector, true},
		"and":         {predicate.And(predicate.LabelChangedPredicate{}, predicate.GenerationChangedPredicate{}), false},
		"or":          {predicate.Or(predicate.LabelChangedPredicate{}, predicate.GenerationChangedPredicate{}), true},
		"not":         {predicate.Not[client.Object](predicate.LabelChangedPredicate{}), false},
	} {
		if got, err := flyctrl.Predicate[corev1.ConfigMap](tc.p).Match(change); err != nil || got != tc.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
	typed := predicate.TypedFuncs[*corev1.ConfigMap]{GenericFunc: func(e event.TypedGenericEvent[*corev1.ConfigMap]) bool { return e.Object.Name == "b" }}
	p := flyctrl.Predicate[corev1.ConfigMap](predicate.TypedPredicate[*corev1.ConfigMap](typed))
	for name, want := range map[string]bool{"a": false, "b": true} {
		if got, err := p.MatchGeneric(configMap("ns", name)); err != nil || got != want {
			t.Errorf("a generic event of %s: %v, %v", name, got, err)
		}
	}
	if got, err := p.MatchGeneric(&corev1.Secret{}); err == nil || !got {
		t.Errorf("a generic event of another type: %v, %v", got, err)
	}
	if flyctrl.Predicate[corev1.ConfigMap](predicate.Predicate(nil)) != flypredicate.Predicate(nil) {
		t.Error("a nil predicate is none")
	}
}
