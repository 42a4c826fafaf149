package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyball-io/flyball/internal/discovery"
)

var errReset = errors.New("the mapper was reset meanwhile")

// Served runs a discovery and returns which versions of the kind the server serves. With an error
// nothing is known about the kind.
//
// It is what one server serves at this moment: another one of the same cluster may serve more. That a kind
// is gone is for [Feed.Gone] to say.
//
// A call returns the result of a discovery that began after it. Concurrent calls share such a discovery.
func (f *Feed) Served(ctx context.Context) (discovery.Serving, error) {
	all, err := f.c.discoverNow(ctx)
	if err != nil {
		return discovery.Serving{}, err
	}
	s, err := all.Serving(f.kind.GVK)
	if err != nil {
		err = fmt.Errorf("discover %s: %w", f.kind.GVK.Kind, err)
	}
	return s, err
}

func (c *Live) discoverNow(ctx context.Context) (*discovery.Served, error) {
	if m, ok := c.mapper.(*mapper); ok {
		return m.discoverNow(ctx)
	}
	return newDiscoverer(c.link).all(ctx)
}

// discoverNow returns the result of a discovery that began after the call.
func (m *mapper) discoverNow(ctx context.Context) (*discovery.Served, error) {
	m.mu.Lock()
	asked := m.begun
	m.mu.Unlock()
	if err := m.update(ctx, asked); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return nil, errReset
	}
	return m.known.Served, nil
}
