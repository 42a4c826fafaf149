package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving says which versions of a kind a server serves, by its discovery.
type Serving struct {
	// Version is the version of the question. Here is true if it serves the kind.
	Version string
	Here    bool
	// Elsewhere has the other versions that serve the kind, in the order of the server.
	Elsewhere []string
}

// None reports whether no version serves the kind.
func (s Serving) None() bool { return !s.Here && len(s.Elsewhere) == 0 }

var (
	errNoCore  = errors.New("discovery does not list the resources of core/v1: it is not that of a whole API server")
	errPartial = errors.New("discovery does not list all versions of the group")
	errReset   = errors.New("the mapper was reset meanwhile")
)

// Served runs a discovery and returns which versions of the kind the server serves. With an error
// nothing is known about the kind.
//
// An answer without the kind counts only if a whole API server gave it. The discovery document must be
// valid and list other kinds, core/v1 among them. No version of the kind's group may be stale or
// missing. So neither a page of a proxy, nor a 404, nor part of an answer can say that a kind is gone.
//
// A call returns the result of a discovery that began after it. Concurrent calls share such a discovery.
func (f *Feed) Served(ctx context.Context) (Serving, error) {
	all, err := f.c.discoverNow(ctx)
	if err != nil {
		return Serving{}, err
	}
	s, err := all.serving(f.kind.GVK)
	if err != nil {
		err = fmt.Errorf("discover %s: %w", f.kind.GVK.Kind, err)
	}
	return s, err
}

func (c *Live) discoverNow(ctx context.Context) (*served, error) {
	if m, ok := c.mapper.(*Mapper); ok {
		return m.discoverNow(ctx)
	}
	return newDiscovery(c.link).all(ctx)
}

// discoverNow returns the result of a discovery that began after the call.
func (m *Mapper) discoverNow(ctx context.Context) (*served, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.begun
	for m.running != nil && m.begun == asked { // it began before the call
		before := m.running
		m.mu.Unlock()
		select {
		case <-before.done:
		case <-ctx.Done():
		}
		m.mu.Lock()
		if ctx.Err() != nil {
			return nil, ended(ctx, Call{Verb: verbDiscover})
		}
	}
	if m.known == nil || m.known.number <= asked {
		if err := m.discoverLocked(ctx); err != nil {
			return nil, err
		}
	}
	if m.known == nil {
		return nil, errReset
	}
	return m.known.served, nil
}

// serving looks a kind up. The error says why the answer does not count.
func (s *served) serving(gvk schema.GroupVersionKind) (Serving, error) {
	found := Serving{Version: gvk.Version}
	var unknown error
	for _, g := range s.groups {
		if g.name != gvk.Group {
			continue
		}
		for _, v := range g.versions {
			switch {
			case v.err != nil:
				unknown = fmt.Errorf("%w: %s: %w", errPartial, v.name, v.err)
			case !v.has(gvk.Kind):
			case v.name == gvk.Version:
				found.Here = true
			default:
				found.Elsewhere = append(found.Elsewhere, v.name)
			}
		}
	}
	switch {
	case found.Here:
		return found, nil
	case unknown != nil:
		return Serving{}, unknown
	case !s.whole(gvk.Kind):
		return Serving{}, errNoCore
	}
	return found, nil
}

func (v *servedVersion) has(kind string) bool {
	return slices.ContainsFunc(v.resources, func(r servedResource) bool { return r.kind == kind })
}

// whole reports whether core/v1 is known and has another kind than this one.
func (s *served) whole(kind string) bool {
	core := s.version(schema.GroupVersion{Version: "v1"})
	return core != nil && core.err == nil &&
		slices.ContainsFunc(core.resources, func(r servedResource) bool { return r.kind != kind })
}
