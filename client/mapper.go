package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/discovery"
)

// mapper maps kinds to resources by discovery. It asks the server at its first use, and again for a kind
// that it does not know or whose resource answered 404. Callers that wait share one discovery. The rate
// is ten discoveries at once, then one a second.
//
// If an aggregated API server does not answer, its groups keep the resources that they last had. Other
// groups are not affected.
//
// The methods of [meta.RESTMapper] have no ctx; they wait for at most 32 s. All methods are safe for
// concurrent use.
type mapper struct {
	discover func(context.Context) (*discovery.Served, error)

	lock chan struct{} // held by the discovery that runs

	mu      sync.Mutex
	known   *discovered // nil before the first discovery
	begun   uint64      // the number of the last discovery that began
	ended   uint64      // the number of the last discovery that ended, and its error
	err     error
	refresh backoff.Bucket
	suspect map[schema.GroupVersionResource]bool // resources that answered 404 since the last discovery
}

var _ meta.RESTMapper = (*mapper)(nil)

// discovered is the result of one discovery, with caches of answers. The lock of the mapper guards it.
type discovered struct {
	*discovery.Served
	mappings map[schema.GroupVersionKind]*meta.RESTMapping // answers so far
	full     meta.RESTMapper                               // nil until it is needed
}

// only maps a kind in its version. Without a version it takes the one that the server prefers.
func (d *discovered) only(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if m := d.mappings[gvk]; m != nil {
		return m, nil
	}
	var m *meta.RESTMapping
	if gvk.Version == "" || gvk.Version == runtime.APIVersionInternal {
		var err error
		if m, err = d.all().RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return nil, err
		}
	} else if m = d.Mapping(gvk); m == nil {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	d.mappings[gvk] = m
	return m, nil
}

// all returns the mapper for the questions that only cannot answer. It is made at the first of them.
func (d *discovered) all() meta.RESTMapper {
	if d.full == nil {
		d.full = d.Mapper()
	}
	return d.full
}

func newMapper(l *link) *mapper {
	return &mapper{
		lock:     make(chan struct{}, 1),
		refresh:  backoff.Bucket{Rate: 1, Burst: 10},
		suspect:  map[schema.GroupVersionResource]bool{},
		discover: newDiscoverer(l).all,
	}
}

// Mapping is that of [Live.Mapping].
func (m *mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	var found *meta.RESTMapping
	err := m.ask(ctx, func(d *discovered) error {
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
		if v := m.known.Version(gvk.GroupVersion()); v != nil && v.Err != nil {
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

// ask calls look with the last discovery. If that lacks the answer, ask runs a discovery and calls look
// once more.
func (m *mapper) ask(ctx context.Context, look func(*discovered) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for refreshed := false; ; refreshed = true {
		if m.known != nil {
			err := look(m.known)
			unknown := err == errSuspect || meta.IsNoMatchError(err)
			if !unknown || refreshed {
				return err
			}
			if len(m.lock) == 0 && !m.refresh.TryTake(time.Now()) {
				if err == errSuspect {
					clear(m.suspect) // too soon for another discovery: use the last one
					return look(m.known)
				}
				return err
			}
		}
		after := m.ended
		m.mu.Unlock()
		err := m.update(ctx, after)
		m.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// update returns when a discovery with a higher number than after has ended, with its error. That is one
// that another call runs, or its own. A discovery that ends with the ctx of its call says nothing about the
// server, and does not count.
func (m *mapper) update(ctx context.Context, after uint64) error {
	select {
	case m.lock <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, Call{Verb: verbDiscover})
	}
	defer func() { <-m.lock }()
	m.mu.Lock()
	if m.ended > after {
		defer m.mu.Unlock()
		return m.err
	}
	m.begun++
	number := m.begun
	m.mu.Unlock()
	now, err := m.discover(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		return err
	}
	m.ended, m.err = number, err
	if err != nil {
		return err
	}
	if m.known != nil {
		now.Keep(m.known.Served)
	}
	m.known = &discovered{Served: now, mappings: map[schema.GroupVersionKind]*meta.RESTMapping{}}
	clear(m.suspect)
	return nil
}

// query is ask for the methods without a ctx.
func query[R any](m *mapper, f func(*discovered) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	var r R
	err := m.ask(ctx, func(d *discovered) error {
		var err error
		r, err = f(d)
		return err
	})
	return r, err
}

// KindFor implements [meta.RESTMapper].
func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return query(m, func(d *discovered) (schema.GroupVersionKind, error) { return d.all().KindFor(resource) })
}

// KindsFor implements [meta.RESTMapper].
func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return query(m, func(d *discovered) ([]schema.GroupVersionKind, error) { return d.all().KindsFor(resource) })
}

// ResourceFor implements [meta.RESTMapper].
func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return query(m, func(d *discovered) (schema.GroupVersionResource, error) { return d.all().ResourceFor(input) })
}

// ResourcesFor implements [meta.RESTMapper].
func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return query(m, func(d *discovered) ([]schema.GroupVersionResource, error) { return d.all().ResourcesFor(input) })
}

// RESTMapping implements [meta.RESTMapper].
func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return query(m, func(d *discovered) (*meta.RESTMapping, error) {
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
	return query(m, func(d *discovered) ([]*meta.RESTMapping, error) { return d.all().RESTMappings(gk, versions...) })
}

// ResourceSingularizer implements [meta.RESTMapper].
func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	return query(m, func(d *discovered) (string, error) { return d.all().ResourceSingularizer(resource) })
}

// noResource is the cause of a [NotServedError] whose resource answered 404.
func noResource(call Call) error {
	return &meta.NoResourceMatchError{PartialResource: call.Resource}
}
