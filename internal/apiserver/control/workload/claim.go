// Package workload has the controllers of StatefulSets, DaemonSets, Jobs and CronJobs. They decide which Pods, claims,
// revisions and Jobs to create and delete, and what the status is. Each decision is a function of the time and of the
// objects. It adds its requests to a [calls.Calls].
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

// sooner returns the earlier of two times. The zero time means never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
