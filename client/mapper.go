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

// Mapper knows from discovery which resource serves a kind. It asks the server when it is first
// used, and again when it is asked for something that it does not know or that turned out to be
// gone: one request at a time for all who wait, ten in a row and then one a second at most.
//
// When an aggregated API server does not answer, the groups of that server keep the resources
// they last had; all others are not affected.
//
// The methods of [meta.RESTMapper] have no ctx and wait for up to discoveryTimeout.
type Mapper struct {
	discover func(context.Context) (*served, error)

	mu      sync.Mutex
	known   *discovered // nil: nothing yet
	running *flight     // the discovery under way; nil: none is
	begun   uint64      // how many discoveries have begun
	refresh backoff.Bucket
	suspect map[schema.GroupVersionResource]bool // answered 404 since the last discovery
}

var _ meta.RESTMapper = (*Mapper)(nil)

// flight is one discovery that others may wait for.
type flight struct {
	done chan struct{}
	// err and abandoned are set before done is closed. abandoned: the ctx of the one who asked
	// has ended, which says nothing about the server.
	err       error
	abandoned bool
}

// discovered is the result of one discovery, and what was worked out of it. It is used under the
// lock of the Mapper.
type discovered struct {
	*served
	number   uint64                                        // of the discovery, by their beginnings
	mappings map[schema.GroupVersionKind]*meta.RESTMapping // answers so far
	full     meta.RESTMapper                               // nil: not needed yet
}

// only finds a kind in its version, or in none: then in the one that the server prefers.
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

// all answers what only does not. Programs that never ask so do without.
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

// Mapping returns the resource of a kind. What the server does not serve is a [NotServedError]; a
// failed discovery is an [UnavailableError], [UnauthorizedError], [ResponseError] and so on.
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

// gone notes that the server answered 404 for a resource: the next Mapping of it looks again.
func (m *Mapper) gone(gvr schema.GroupVersionResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.suspect[gvr] = true
}

// Reset forgets everything that was discovered.
func (m *Mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = nil
}

// ask answers from what is known, and once more after a discovery when the answer is not in it.
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
					clear(m.suspect) // too soon to look again: go by what is known
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

// discoverLocked runs a discovery, or waits for the one under way. The lock is open meanwhile.
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

// query is ask for the methods without ctx.
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
