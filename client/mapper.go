package client

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/discovery"
)

// mapper maps kinds to resources by discovery. It asks the server at its first use, and again for a kind
// that it does not know or whose resource answered 404. Callers that wait share one discovery. The rate
// is ten discoveries at once, then one a second.
//
// Of a server without aggregated discovery it lists the resources of those group versions that a question is
// about, when it is asked: one hanging group holds up the questions about itself only, for [listTimeout].
//
// If an aggregated API server does not answer, its groups keep the resources that they last had. Other
// groups are not affected.
//
// The methods of [meta.RESTMapper] have no ctx; they wait for at most 32 s. All methods are safe for
// concurrent use.
type mapper struct {
	*discoverer

	lock chan struct{} // held by the discovery that runs

	mu    sync.Mutex
	known *discovered // nil before the first discovery
	begun uint64      // the number of the last discovery that began
	ended uint64      // the number of the last discovery that ended, and its error
	err   error

	failures uint64 // lists that failed
	refresh  backoff.Bucket
	suspect  map[schema.GroupVersionResource]bool // resources that answered 404 since they were listed
}

var _ meta.RESTMapper = (*mapper)(nil)

func newMapper(l *link) *mapper {
	return &mapper{
		discoverer: newDiscoverer(l),
		lock:       make(chan struct{}, 1),
		refresh:    backoff.Bucket{Rate: 1, Burst: 10},
		suspect:    map[schema.GroupVersionResource]bool{},
	}
}

// Mapping is that of [Live.Mapping].
func (m *mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	var found *meta.RESTMapping
	err := m.ask(ctx, about(gvk), func(d *discovered) error {
		var err error
		found, err = d.only(gvk)
		if err == nil && m.suspect[found.Resource] {
			return errSuspect
		}
		return err
	})
	if err == nil {
		return found, nil
	}
	if !meta.IsNoMatchError(err) {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known != nil {
		if v := m.known.Version(gvk.GroupVersion()); v != nil && v.Err != nil && v.Err != discovery.ErrUnlisted {
			err = errors.Join(err, v.Err)
		}
	}
	return nil, &NotServedError{Call: Call{Verb: verbDiscover, Kind: gvk.Kind}, GVK: gvk, cause: err}
}

var errSuspect = errors.New("the resource of the kind was not found")

// gone records that the server answered 404 for a resource. The next Mapping of it asks the server.
func (m *mapper) gone(gvr schema.GroupVersionResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspect[gvr] = true
}

// Known returns the resource of a kind as the last discovery had it, or nil. It sends nothing.
func (m *mapper) Known(gvk schema.GroupVersionKind) *meta.RESTMapping {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return nil
	}
	found, _ := m.known.only(gvk)
	return found
}

// Reset drops the result of the last discovery.
func (m *mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = nil
}

// ask calls look with the last discovery. If that lacks the answer, ask lists the wanted group versions that were
// not listed since, then runs a discovery, and calls look after each. A list that has just failed is not repeated.
func (m *mapper) ask(ctx context.Context, want scope, look func(*discovered) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	unseen := func(gv schema.GroupVersion) bool { return want(gv) && m.known.Version(gv).Resources == nil }
	try := func(list scope) (known bool, err error) {
		if err := m.ensure(ctx, list); err != nil {
			return true, err
		}
		err = look(m.known)
		return err != errSuspect && !meta.IsNoMatchError(err), err
	}
	failures := m.failures
	known, err := try(unseen)
	if !known && len(m.known.Unlisted(want)) > 0 {
		known, err = try(want)
	}
	if known || m.known.failedSince(failures, want) {
		return err
	}
	if len(m.lock) == 0 && !m.refresh.TryTake(time.Now()) {
		if err == errSuspect {
			clear(m.suspect) // too soon for another discovery: use the last one
			err = look(m.known)
		}
		return err
	}
	if err := m.update(ctx, m.ended); err != nil {
		return err
	}
	_, err = try(want)
	return err
}

// ensure has a discovery run if there was none, and lists the wanted group versions that nobody has listed since.
// Without an error m.known is set. The caller holds the lock of m; ensure releases it while it waits.
func (m *mapper) ensure(ctx context.Context, want scope) error {
	for {
		for m.known == nil {
			if err := m.update(ctx, m.ended); err != nil {
				return err
			}
		}
		if err := m.fill(ctx, m.known, m.known.Unlisted(want)); err != nil || m.known != nil {
			return err
		}
	}
}

// trust drops the suspicion of resources that were listed since.
func (m *mapper) trust() {
	maps.DeleteFunc(m.suspect, func(gvr schema.GroupVersionResource, _ bool) bool {
		v := m.known.Version(gvr.GroupVersion())
		return v == nil || v.Err != discovery.ErrUnlisted
	})
}

// update returns when a discovery with a higher number than after has ended, with its error. That is one
// that another call runs, or its own. A discovery that ends with the ctx of its call says nothing about the
// server, and does not count. The caller holds the lock of m; update releases it while it waits.
func (m *mapper) update(ctx context.Context, after uint64) error {
	m.mu.Unlock()
	defer m.mu.Lock()
	select {
	case m.lock <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, Call{Verb: verbDiscover})
	}
	defer func() { <-m.lock }()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended > after {
		return m.err
	}
	m.begun++
	number := m.begun
	m.mu.Unlock()
	core, others, err := m.groups(ctx)
	m.mu.Lock()
	if err != nil && ctx.Err() != nil {
		return err
	}
	m.ended, m.err = number, err
	if err != nil {
		return err
	}
	now := &discovery.Served{Groups: append(core, others...)}
	if m.known != nil {
		now.Keep(m.known.Served)
	}
	m.known = newDiscovered(now)
	m.trust()
	return nil
}

// query is ask for the methods without a ctx.
func query[R any](m *mapper, want scope, f func(*discovered) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	var r R
	err := m.ask(ctx, want, func(d *discovered) error {
		var err error
		r, err = f(d)
		return err
	})
	return r, err
}

// KindFor implements [meta.RESTMapper].
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return query(m, everything, func(d *discovered) (schema.GroupVersionKind, error) { return d.all().KindFor(resource) })
}

// KindsFor implements [meta.RESTMapper].
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return query(m, everything, func(d *discovered) ([]schema.GroupVersionKind, error) { return d.all().KindsFor(resource) })
}

// ResourceFor implements [meta.RESTMapper].
func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return query(m, everything, func(d *discovered) (schema.GroupVersionResource, error) { return d.all().ResourceFor(input) })
}

// ResourcesFor implements [meta.RESTMapper].
func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return query(m, everything, func(d *discovered) ([]schema.GroupVersionResource, error) { return d.all().ResourcesFor(input) })
}

// RESTMapping implements [meta.RESTMapper].
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	want := inGroup(gk.Group)
	if len(versions) == 1 {
		want = about(gk.WithVersion(versions[0]))
	}
	return query(m, want, func(d *discovered) (*meta.RESTMapping, error) {
		if len(versions) != 1 {
			return d.all().RESTMapping(gk, versions...)
		}
		found, err := d.only(gk.WithVersion(versions[0]))
		if err != nil {
			return nil, err
		}
		own := *found
		return &own, nil
	})
}

// RESTMappings implements [meta.RESTMapper].
func (m *mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return query(m, inGroup(gk.Group), func(d *discovered) ([]*meta.RESTMapping, error) { return d.all().RESTMappings(gk, versions...) })
}

// ResourceSingularizer implements [meta.RESTMapper].
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return query(m, everything, func(d *discovered) (string, error) { return d.all().ResourceSingularizer(resource) })
}

// noResource is the cause of a [NotServedError] whose resource answered 404.
func noResource(call Call) error {
	return &meta.NoResourceMatchError{PartialResource: call.Resource}
}
