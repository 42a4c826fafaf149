package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyball-io/flyball/internal/discovery"
)

var errReset = errors.New("the mapper was reset meanwhile")

// Served asks the server whether it serves the kind in the version of the feed, and in which others. With an error
// nothing is known about the kind.
//
// It is what one server serves at this moment: another one of the same cluster may serve more. That a kind
// is gone is for [Feed.Gone] to say.
//
// A call returns what was asked after it began. Concurrent calls share that.
func (f *Feed) Served(ctx context.Context) (here bool, elsewhere []string, err error) {
	m, own := f.c.mapper.(*mapper)
	if !own {
		m = newMapper(f.c.link)
	}
	all, err := m.discoverNow(ctx, inGroup(f.kind.GVK.Group))
	if err != nil {
		return false, nil, err
	}
	here, elsewhere, err = all.Serving(f.kind.GVK)
	if err != nil {
		err = fmt.Errorf("discover %s: %w", f.kind.GVK.Kind, err)
	}
	return here, elsewhere, err
}

// discoverNow returns what the server serves, read after the call began: the groups, and the resources of the
// wanted group versions. If one was listed and then not found, it may have been removed between the
// two requests: discoverNow asks once more.
func (m *mapper) discoverNow(ctx context.Context, want scope) (*discovery.Served, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for again := false; ; again = true {
		if err := m.update(ctx, m.begun); err != nil {
			return nil, err
		}
		d := m.known
		if d == nil {
			return nil, errReset
		}
		if err := m.fill(ctx, d, d.Unlisted(want)); err != nil {
			return nil, err
		}
		if again || !d.lost(want) {
			return d.Served, nil
		}
	}
}
