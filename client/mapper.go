package client

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

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
	discover func(context.Context) (*restmapperInput, error)

	mu      sync.Mutex
	known   *discovered // nil: nothing yet
	running *flight     // the discovery under way; nil: none is
	refresh backoff.Bucket
	suspect map[schema.GroupVersionResource]bool // answered 404 since the last discovery
}

var _ meta.RESTMapper = (*Mapper)(nil)

const discoveryTimeout = 32 * time.Second

// flight is one discovery that others may wait for.
type flight struct {
	done chan struct{}
	// err and abandoned are set before done is closed. abandoned: the ctx of the one who asked
	// has ended, which says nothing about the server.
	err       error
	abandoned bool
}

// discovered is the result of one discovery.
type discovered struct {
	meta.RESTMapper
	input    restmapperInput
	mappings map[schema.GroupVersionKind]*meta.RESTMapping // answers so far, under the lock of the Mapper
}

func (d *discovered) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if m, ok := d.mappings[gvk]; ok {
		return m, nil
	}
	m, err := d.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err == nil {
		d.mappings[gvk] = m
	}
	return m, err
}

// restmapperInput is what discovery found, by group, and the group versions that failed.
type restmapperInput struct {
	groups map[string]*restmapper.APIGroupResources
	failed map[schema.GroupVersion]error
}

func newMapper(cfg *rest.Config, rt http.RoundTripper, typed func(context.Context, error) error) (*Mapper, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.RateLimiter, cfg.WarningHandler = -1, nil, rest.NoWarnings{}
	dc, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, &http.Client{Transport: rt, Timeout: discoveryTimeout})
	if err != nil {
		return nil, err
	}
	return &Mapper{
		refresh: backoff.Bucket{Rate: 1, Burst: 10},
		suspect: map[schema.GroupVersionResource]bool{},
		discover: func(ctx context.Context) (*restmapperInput, error) {
			in, err := discoverAll(ctx, dc)
			if err != nil {
				return nil, typed(ctx, err)
			}
			return in, nil
		},
	}, nil
}

func discoverAll(ctx context.Context, dc *discovery.DiscoveryClient) (*restmapperInput, error) {
	groups, lists, err := dc.ServerGroupsAndResourcesWithContext(ctx)
	in := &restmapperInput{groups: map[string]*restmapper.APIGroupResources{}}
	if partial, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		in.failed = partial.Groups
	} else if err != nil {
		return nil, err
	}
	resources := map[string][]metav1.APIResource{}
	for _, l := range lists {
		resources[l.GroupVersion] = l.APIResources
	}
	for _, g := range groups {
		found := &restmapper.APIGroupResources{Group: *g, VersionedResources: map[string][]metav1.APIResource{}}
		for _, v := range g.Versions {
			if rs, ok := resources[v.GroupVersion]; ok {
				found.VersionedResources[v.Version] = rs
			}
		}
		in.groups[g.Name] = found
	}
	return in, nil
}

// keep takes over from old what this discovery failed to learn.
func (in *restmapperInput) keep(old *discovered) {
	if old == nil {
		return
	}
	for gv := range in.failed {
		was, ok := old.input.groups[gv.Group]
		if !ok || was.VersionedResources[gv.Version] == nil {
			continue
		}
		now, ok := in.groups[gv.Group]
		if !ok {
			in.groups[gv.Group] = was
			continue
		}
		if now.VersionedResources[gv.Version] == nil {
			now.VersionedResources[gv.Version] = was.VersionedResources[gv.Version]
		}
	}
}

func (in *restmapperInput) mapper() *discovered {
	groups := make([]*restmapper.APIGroupResources, 0, len(in.groups))
	for _, name := range slices.Sorted(maps.Keys(in.groups)) {
		groups = append(groups, in.groups[name])
	}
	return &discovered{
		RESTMapper: restmapper.NewDiscoveryRESTMapper(groups), input: *in,
		mappings: map[schema.GroupVersionKind]*meta.RESTMapping{},
	}
}

// Mapping returns the resource of a kind. What the server does not serve is a [NotServed]; a
// failed discovery is an [Unavailable], [Unauthorized] and so on.
func (m *Mapper) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	var found *meta.RESTMapping
	err := m.ask(ctx, func(d *discovered) error {
		var err error
		found, err = d.mapping(gvk)
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
		if down, ok := m.known.input.failed[gvk.GroupVersion()]; ok {
			err = errors.Join(err, down)
		}
	}
	return nil, &NotServed{Call: Call{Verb: verbDiscover, Kind: gvk.Kind}, GVK: gvk, cause: err}
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
	m.mu.Unlock()
	in, err := m.discover(ctx)
	m.mu.Lock()
	f.err, f.abandoned = err, err != nil && ctx.Err() != nil
	m.running = nil
	close(f.done)
	if err != nil {
		return err
	}
	in.keep(m.known)
	m.known = in.mapper()
	clear(m.suspect)
	return nil
}

const verbDiscover = "discover"

// query is ask for the methods without ctx.
func query[R any](m *Mapper, f func(meta.RESTMapper) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(context.Background(), discoveryTimeout)
	defer cancel()
	var r R
	err := m.ask(ctx, func(d *discovered) error {
		var err error
		r, err = f(d.RESTMapper)
		return err
	})
	return r, err
}

// KindFor implements [meta.RESTMapper].
func (m *Mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return query(m, func(r meta.RESTMapper) (schema.GroupVersionKind, error) { return r.KindFor(resource) })
}

// KindsFor implements [meta.RESTMapper].
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return query(m, func(r meta.RESTMapper) ([]schema.GroupVersionKind, error) { return r.KindsFor(resource) })
}

// ResourceFor implements [meta.RESTMapper].
func (m *Mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return query(m, func(r meta.RESTMapper) (schema.GroupVersionResource, error) { return r.ResourceFor(input) })
}

// ResourcesFor implements [meta.RESTMapper].
func (m *Mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return query(m, func(r meta.RESTMapper) ([]schema.GroupVersionResource, error) { return r.ResourcesFor(input) })
}

// RESTMapping implements [meta.RESTMapper].
func (m *Mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return query(m, func(r meta.RESTMapper) (*meta.RESTMapping, error) { return r.RESTMapping(gk, versions...) })
}

// RESTMappings implements [meta.RESTMapper].
func (m *Mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return query(m, func(r meta.RESTMapper) ([]*meta.RESTMapping, error) { return r.RESTMappings(gk, versions...) })
}

// ResourceSingularizer implements [meta.RESTMapper].
func (m *Mapper) ResourceSingularizer(resource string) (string, error) {
	return query(m, func(r meta.RESTMapper) (string, error) { return r.ResourceSingularizer(strings.ToLower(resource)) })
}

// noResource is the cause of a [NotServed] whose resource answered 404.
func noResource(call Call) error {
	return &meta.NoResourceMatchError{PartialResource: call.Resource}
}
