package flyball

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
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

// clusterKind is a kind in one of the clusters; the program's own has no name.
type clusterKind struct {
	cluster string
	kind    schema.GroupKind
}

// optionalKinds are the kinds of a controller of m that the server may not serve.
func (m *Manager) optionalKinds(c controller.Interface) (all []clusterKind) {
	for _, at := range m.allClusters() {
		for _, o := range c.OptionalKinds(m.in(at)) {
			all = append(all, clusterKind{at.cluster, o.GetObjectKind().GroupVersionKind().GroupKind()})
		}
	}
	return all
}

// absentOptional reports whether a watch fails because the server does not serve a kind that is optional for a
// controller. One that needs the kind fails a check of its own.
func (m *Manager) absentOptional(w clusterWatch) bool {
	if _, absent := errors.AsType[*client.NotServedError](w.State.Err); !absent {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kinds := range m.optional {
		if slices.Contains(kinds, clusterKind{w.cluster, w.Kind.GVK.GroupKind()}) {
			return true
		}
	}
	return false
}

// excused reports whether a watch that is not in order may wait for the webhooks of this program, which
// are served.
func (m *Manager) excused(kind schema.GroupKind, s informer.State, now time.Time) bool {
	return m.servesWebhooks() && m.webhooks.converts(kind) && waitsForConversion(s.Err, s.Watch.Since, now)
}

func (m *Manager) servesWebhooks() bool {
	server := m.servers.webhooks
	return server != nil && server.Addr() != nil
}

// excusedKinds are the kinds of the excused watches.
func (m *Manager) excusedKinds(now time.Time) map[schema.GroupKind]bool {
	all := map[schema.GroupKind]bool{}
	for _, w := range m.cache.Watches() {
		if kind := w.Kind.GVK.GroupKind(); checkWatch(w) != nil && m.excused(kind, w.State, now) {
			all[kind] = true
		}
	}
	return all
}

// whyExcused is why a controller that is not in order is excused, empty if it is not. It is excused while it
// waits for excused kinds. In a program that serves webhooks it is also excused while its sources fail, or
// wait for a further cluster. Whatever else it waits for fails a check of its own.
func (m *Manager) whyExcused(c controller.Interface, s controller.State, excused map[schema.GroupKind]bool) string {
	_, fails := errors.AsType[*controller.FailingError](s.Err)
	_, elsewhere := errors.AsType[*clusterError](s.Err)
	if (fails || elsewhere) && m.servesWebhooks() {
		return whyWebhooks
	}
	_, waits := errors.AsType[*controller.SyncError](s.Err)
	if len(excused) == 0 || s.Phase != controller.Syncing && !waits {
		return ""
	}
	if slices.ContainsFunc(c.Kinds(nil), func(o object.Object) bool {
		kind, err := object.KindOf(m.Scheme(), o)
		return err == nil && excused[kind.GroupKind()]
	}) {
		return whyConversion
	}
	return ""
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
