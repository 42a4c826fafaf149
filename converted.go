package flyball

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/webhook/convert"
)

// A kind that this program converts may be listed only while its own conversion webhook answers, and
// the Service of the webhooks leads to Pods that are ready. So such a kind must not keep the Pod from
// being ready for long: all replicas would wait for each other. See ADR 17.

// convertedWait is how long a kind that this program converts is waited for while nothing is known to
// keep it: most often the list comes at once, from a replica of before or an API server's cache.
const convertedWait = 10 * time.Second

// converter is a handler that says what it converts: *convert.Endpoint.
type converter interface{ Converts() []schema.GroupKind }

// convertsLocked notes what a handler converts. One at convert.Path that does not say so may convert
// everything.
func (w *webhooks) convertsLocked(path string, h http.Handler) {
	if c, ok := h.(converter); ok {
		for _, kind := range c.Converts() {
			w.converted[kind] = true
		}
	} else if path == convert.Path {
		w.convertsAll = true
	}
}

// converts reports whether this program converts a kind.
func (w *webhooks) converts(kind schema.GroupKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.convertsAll && kind.Group != "" || w.converted[kind]
}

// Why a check is excused.
const (
	whyConversion = "it may wait for the conversion webhook of this program"
	whyWebhooks   = "the webhooks of this program work without it"
)

// excused reports whether a watch that does not work as it should waits, as far as anybody can tell,
// for the webhooks of this program, which are served.
func (m *Manager) excused(kind schema.GroupKind, s informer.State, now time.Time) bool {
	return m.servesWebhooks() && m.webhooks.converts(kind) && waitsForConversion(s.Err, s.Watch.Since, now)
}

func (m *Manager) servesWebhooks() bool {
	server := m.servers.webhooks
	return server != nil && server.Addr() != nil
}

// excusedKinds are those of the watches that are excused.
func (m *Manager) excusedKinds(now time.Time) map[schema.GroupKind]bool {
	all := map[schema.GroupKind]bool{}
	for _, w := range m.cache.Watches() {
		if kind := w.Kind.GVK.GroupKind(); checkWatch(w) != nil && m.excused(kind, w.State, now) {
			all[kind] = true
		}
	}
	return all
}

// whyExcused says why a controller that is not in order is excused: it waits for kinds that are, or
// its sources fail beside webhooks. What else it waits for fails a check of its own.
func (m *Manager) whyExcused(c stateful, s controller.State, excused map[schema.GroupKind]bool) string {
	if _, fails := errors.AsType[*controller.FailingError](s.Err); fails && m.servesWebhooks() {
		return whyWebhooks
	}
	k, ok := c.(kinds)
	if !ok || len(excused) == 0 || s.Phase != controller.Syncing {
		return ""
	}
	if slices.ContainsFunc(k.Kinds(), func(o object.Object) bool {
		kind, err := object.KindOf(m.Scheme(), o)
		return err == nil && excused[kind.GroupKind()]
	}) {
		return whyConversion
	}
	return ""
}

// waitsForConversion is the rule: what the API server refuses for other reasons is not excused, nor is
// what began a moment ago.
func waitsForConversion(err error, since, now time.Time) bool {
	if err == nil {
		return !since.IsZero() && now.Sub(since) >= convertedWait
	}
	_, forbidden := errors.AsType[*client.ForbiddenError](err)
	_, unauthorized := errors.AsType[*client.UnauthorizedError](err)
	_, absent := errors.AsType[*client.NotServedError](err)
	return !forbidden && !unauthorized && !absent
}
