// Package workload has the controllers of StatefulSets, DaemonSets, Jobs and CronJobs. They decide which Pods, claims,
// revisions and Jobs to create and delete, and what the status is. Each decision is a function of the time and of the
// objects. It adds its requests to a [calls.Calls].
package workload

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// owner is an object that controls others.
type owner struct {
	metav1.Object
	kind     schema.GroupVersionKind
	selector labels.Selector
	// finalizers are added to the objects that the owner adopts.
	finalizers []string
}

// claim returns the objects that the owner controls. It adopts objects without a controller that its selector matches,
// and releases objects that it no longer matches.
func claim[T metav1.Object](c *calls.Calls, o owner, objects []T) []T {
	var out []T
	for _, x := range objects {
		ref := metav1.GetControllerOfNoCopy(x)
		matches := o.selector.Matches(labels.Set(x.GetLabels()))
		switch {
		case ref != nil && ref.UID != o.GetUID():
		case ref != nil && matches:
			out = append(out, x)
		case ref != nil && o.GetDeletionTimestamp() == nil:
			c.Patch(x, map[string]any{"metadata": map[string]any{
				"uid": x.GetUID(), "ownerReferences": []any{map[string]any{"$patch": "delete", "uid": o.GetUID()}},
			}})
		case ref == nil && matches && o.GetDeletionTimestamp() == nil && x.GetDeletionTimestamp() == nil:
			meta := map[string]any{"uid": x.GetUID(), "ownerReferences": []any{controllerRef(o)}}
			if len(o.finalizers) > 0 {
				meta["finalizers"] = o.finalizers
			}
			c.Patch(x, map[string]any{"metadata": meta})
			out = append(out, x)
		}
	}
	return out
}

func controllerRef(o owner) metav1.OwnerReference { return *metav1.NewControllerRef(o, o.kind) }

func setLabel(o metav1.Object, key, value string) {
	l := o.GetLabels()
	if l == nil {
		l = map[string]string{}
	}
	l[key] = value
	o.SetLabels(l)
}

// sooner returns the earlier of two times. The zero time means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
