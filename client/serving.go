package client

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Serving is what the discovery of a server says of a kind.
type Serving struct {
	// Version is the version that was asked about, and Here says that it serves the kind.
	Version string
	Here    bool
	// Elsewhere are the other versions that serve the kind, in the order of the server.
	Elsewhere []string
}

// None reports whether no version serves the kind.
func (s Serving) None() bool { return !s.Here && len(s.Elsewhere) == 0 }

var (
	errNoCore  = errors.New("discovery does not list the resources of core/v1: it is not that of a whole API server")
	errPartial = errors.New("discovery does not list all versions of the group")
	errReset   = errors.New("the mapper was reset meanwhile")
)

// Served asks the server anew which versions of the kind it serves. An error means that nothing is
// known. An answer counts only if it is that of a whole API server: a valid discovery document that
// lists other kinds, core/v1 among them. No version of the kind's own group may be stale or
// missing. So neither a page, nor a 404, nor a part of an answer can say that a kind is gone.
//
// Those who ask at the same time share one discovery, which begins after they asked.
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

// discoverNow is the answer of a discovery that began after the call.
func (m *Mapper) discoverNow(ctx context.Context) (*served, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.begun
	for m.running != nil && m.begun == asked { // it began before
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

// serving looks a kind up. The error says why it cannot be told.
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

// whole reports whether core/v1 is known with another kind than this one.
func (s *served) whole(kind string) bool {
	core := s.version(schema.GroupVersion{Version: "v1"})
	return core != nil && core.err == nil &&
		slices.ContainsFunc(core.resources, func(r servedResource) bool { return r.kind != kind })
}
