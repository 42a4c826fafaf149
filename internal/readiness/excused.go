package readiness

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
)

// A kind that this program converts can be listed only while its own conversion webhook answers. The
// Service of the webhooks leads to ready Pods alone. So such a kind must not keep the Pod from being ready
// for long: all replicas would wait for each other. See ADR 17.

// convertedWait is how long readiness waits for a converted kind without a known error. Mostly the list
// succeeds at once: a running replica converts, or the API server answers from its cache.
const convertedWait = 10 * time.Second

// The reasons of excused checks.
const (
	whyConversion = "it may wait for the conversion webhook of this program"
	whyWebhooks   = "the webhooks of this program work without it"
	whyOptional   = "the server may not serve the kind: it is optional"
)

// NothingToAwait reports whether every kind that has not synced has a known error, or may wait for the webhooks of
// this program.
func (p Program) NothingToAwait(e *informer.SyncError) bool {
	now := time.Now()
	return !slices.ContainsFunc(e.Missing, func(n *informer.NotSyncedError) bool {
		return n.Unwrap() == nil && !p.mayConvert(n.Kind.GroupKind(), n.State, now)
	})
}

// absentOptional reports whether a watch fails because the server does not serve a kind that is optional for a
// controller. One that needs the kind fails a check of its own.
func (p Program) absentOptional(w Watch) bool {
	if _, absent := errors.AsType[*client.NotServedError](w.State.Err); !absent {
		return false
	}
	for _, c := range p.Controllers() {
		if slices.Contains(c.Optional, Kind{w.Cluster.Name, w.Kind.GVK.GroupKind()}) {
			return true
		}
	}
	return false
}

// mayConvert reports whether a watch that is not in order may wait for the webhooks of this program, which
// are served.
func (p Program) mayConvert(kind schema.GroupKind, s informer.State, now time.Time) bool {
	return p.Serves() && p.Converts(kind) && waitsForConversion(s.Err, s.Watch.Since, now)
}

// waitingForConversion are the kinds that are not in order and may wait for the webhooks of this program.
func (p Program) waitingForConversion(now time.Time) map[schema.GroupKind]bool {
	all := map[schema.GroupKind]bool{}
	for _, w := range p.Clusters()[0].Watches() {
		if kind := w.Kind.GVK.GroupKind(); checkWatch(w) != nil && p.mayConvert(kind, w.State, now) {
			all[kind] = true
		}
	}
	return all
}

// waitsForConversion reports whether the state of a watch may be due to a missing conversion. What the API
// server refuses for other reasons is not, nor a wait that began less than convertedWait ago.
func waitsForConversion(err error, since, now time.Time) bool {
	if err == nil {
		return !since.IsZero() && now.Sub(since) >= convertedWait
	}
	_, forbidden := errors.AsType[*client.ForbiddenError](err)
	_, unauthorized := errors.AsType[*client.UnauthorizedError](err)
	_, absent := errors.AsType[*client.NotServedError](err)
	return !forbidden && !unauthorized && !absent
}
