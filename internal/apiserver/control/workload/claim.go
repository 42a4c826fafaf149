// Package workload decides what becomes of StatefulSets, DaemonSets, Jobs and CronJobs: which pods, claims,
// revisions and jobs to create and delete, and what their status is. Each decision is a function of the time and
// of the objects; it writes its requests into a [calls.Calls].
package workload

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
)

// owner is a workload, as an object that controls others.
type owner = control.Owner

func setLabel(o metav1.Object, key, value string) {
	l := o.GetLabels()
	if l == nil {
		l = map[string]string{}
	}
	l[key] = value
	o.SetLabels(l)
}

// sooner returns the earlier of two times. The zero time is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
