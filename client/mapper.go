package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/backoff"
)

// Mapper maps kinds to resources by discovery. It asks the server at its first use, and again for a kind
// that it does not know or whose resource answered 404. Callers that wait share one discovery. The rate
// is ten discoveries at once, then one a second.
//
// If an aggregated API server does not answer, its groups keep the resources that they last had. Other
// groups are not affected.
//
// The methods of [meta.RESTMapper] have no ctx; they wait for at most 32 s. All methods are safe for
// concurrent use.
type Mapper struct {
	discover func(context.Context) (*served, error)

	mu      sync.Mutex
	known   *discovered // nil before the first discovery
	running *flight     // the discovery in flight; nil: none
	begun   uint64      // the number of discoveries that have begun
	refresh backoff.Bucket
	suspect map[schema.GroupVersionResource]bool // resources that answered 404 since the last discovery
}

var _ meta.RESTMapper = (*Mapper)(nil)

// flight is one discovery that callers share.
type flight struct {
	done chan struct{}
	// err and abandoned are set before done is closed. abandoned says that the ctx of the caller
	// that runs the discovery has ended, which says nothing about the server.
	err       error
	abandoned bool
}

// discovered is the result of one discovery, with caches of answers. The lock of the Mapper guards it.
type discovered struct {
	*served
	number   uint64                                        // of the discovery, in the order of their starts
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
	} else if m = d.mapping(gvk); m == nil {
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	d.mappings[gvk] = m
	return m, nil
}

// all returns the mapper for the questions that only cannot answer. It is made at the first of them.
func (d *discovered) all() meta.RESTMapper {
	if d.full == nil {
		d.full = d.mapper()
	}
	return d.full
}

func newMapper(l *link) *Mapper {
	return &Mapper{
		refresh:  backoff.Bucket{Rate: 1, Burst: 10},
		suspect:  map[schema.GroupVersionResource]bool{},
		discover: newDiscovery(l).all,
	}
}

// Mapping returns the resource of a kind. For a kind that the server does not serve, the error is a
// [NotServedError]. For a failed discovery it is an [UnavailableError], [UnauthorizedError],
// [ResponseError] and so on.
func (m *Mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
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
		if v := m.known.version(gvk.GroupVersion()); v != nil && v.err != nil {
			err = errors.Join(err, v.err)
		}
	}
	return nil, &NotServedError{Call: Call{Verb: verbDiscover, Kind: gvk.Kind}, GVK: gvk, cause: err}
}

var errSuspect = errors.New("the resource of the kind was not found")

// gone records that the server answered 404 for a resource. The next Mapping of it asks the server.
func (m *Mapper) gone(gvr schema.GroupVersionResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspect[gvr] = true
}

// Reset drops the result of the last discovery.
func (m *Mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = nil
}

// ask calls look with the last discovery. If that lacks the answer, ask runs a discovery and calls look
// once more.
func (m *Mapper) ask(ctx context.Context, look func(*discovered) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for refreshed := false; ; refreshed = true {
		if m.known != nil {
			err := look(m.known)
			unknown := err == errSuspect || meta.IsNoMatchError(err)
			if !unknown || refreshed {
				return err
			}
			if m.running == nil && !m.refresh.TryTake(time.Now()) {
				if err == errSuspect {
					clear(m.suspect) // too soon for another discovery: use the last one
					return look(m.known)
				}
				return err
			}
		}
		if err := m.discoverLocked(ctx); err != nil {
			return err
		}
	}
}

// discoverLocked runs a discovery, or waits for the one in flight. It releases the lock meanwhile.
func (m *Mapper) discoverLocked(ctx context.Context) error {
	for m.running != nil {
		f := m.running
		m.mu.Unlock()
		select {
		case <-f.done:
		case <-ctx.Done():
		}
		m.mu.Lock()
		switch {
		case ctx.Err() != nil:
			return ended(ctx, Call{Verb: verbDiscover})
		case !f.abandoned:
			return f.err
		}
	}
	f := &flight{done: make(chan struct{})}
	m.running = f
	m.begun++
	number := m.begun
	m.mu.Unlock()
	now, err := m.discover(ctx)
	m.mu.Lock()
	f.err, f.abandoned = err, err != nil && ctx.Err() != nil
	m.running = nil
	close(f.done)
	if err != nil {
		return err
	}
	if m.known != nil {
		now.keep(m.known.served)
	}
	m.known = &discovered{served: now, number: number, mappings: map[schema.GroupVersionKind]*meta.RESTMapping{}}
	clear(m.suspect)
	return nil
}

// query is ask for the methods without a ctx.
func query[R any](m *Mapper, f func(*discovered) (R, error)) (R, error) {
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
func (m *Mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return query(m, func(d *discovered) (schema.GroupVersionKind, error) { return d.all().KindFor(resource) })
}

// KindsFor implements [meta.RESTMapper].
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return query(m, func(d *discovered) ([]schema.GroupVersionKind, error) { return d.all().KindsFor(resource) })
}

// ResourceFor implements [meta.RESTMapper].
func (m *Mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return query(m, func(d *discovered) (schema.GroupVersionResource, error) { return d.all().ResourceFor(input) })
}

// ResourcesFor implements [meta.RESTMapper].
func (m *Mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return query(m, func(d *discovered) ([]schema.GroupVersionResource, error) { return d.all().ResourcesFor(input) })
}

// RESTMapping implements [meta.RESTMapper].
func (m *Mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
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
func (m *Mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return query(m, func(d *discovered) ([]*meta.RESTMapping, error) { return d.all().RESTMappings(gk, versions...) })
}

// ResourceSingularizer implements [meta.RESTMapper].
func (m *Mapper) ResourceSingularizer(resource string) (string, error) {
	return query(m, func(d *discovered) (string, error) { return d.all().ResourceSingularizer(resource) })
}

// noResource is the cause of a [NotServedError] whose resource answered 404.
func noResource(call Call) error {
	return &meta.NoResourceMatchError{PartialResource: call.Resource}
}
