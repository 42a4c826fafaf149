package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// errClosed is the cause of the end of an informer whose last handle was closed.
var errClosed = errors.New("last handle is closed")

// shared is the one informer of a kind and selection. It ends with the last of its users. Every run
// of the cache has a new informer. Cache.mu guards what changes.
type shared struct {
	key    selectionKey
	kind   informer.Kind
	sel    client.Selection
	within []string // the namespaces of a kind that had none, as in reflector.Options
	users  int
	closed chan struct{} // closed with the last user

	current  atomic.Pointer[informer.Informer]
	replaced chan struct{} // closed when current is replaced
	cancel   context.CancelCauseFunc
}

func (s *shared) informer() *informer.Informer { return s.current.Load() }

// acquire returns the shared informer of a kind and selection, with one more user. within are the namespaces that
// are held if the kind, which has none, gets them; nil: all. c.mu is held.
func (c *Cache) acquire(kind informer.Kind, sel client.Selection, within []string) (*shared, error) {
	if kind.ClusterScoped {
		sel.Namespace = ""
	}
	key := keyOf(kind.GVK, sel)
	key.within = strings.Join(within, ",")
	s := c.shared[key]
	if s == nil {
		s = &shared{key: key, kind: kind, sel: sel, within: within, closed: make(chan struct{})}
		if err := c.renew(s); err != nil {
			return nil, err
		}
		c.shared[key] = s
		if c.group != nil {
			c.start(s)
		}
	}
	s.users++
	return s, nil
}

// release takes one user away. It does not wait for the end of the informer; Run does. c.mu is held.
func (c *Cache) release(s *shared) {
	if s.users--; s.users > 0 {
		return
	}
	delete(c.shared, s.key)
	close(s.closed)
	if c.group != nil {
		s.cancel(errClosed)
	} else {
		s.informer().Discard()
	}
}

// renew makes the informer, for the first time or for another run. c.mu is held.
func (c *Cache) renew(s *shared) error {
	o := informer.Options{
		Kind: s.kind, Selection: s.sel, Scheme: c.conn.Scheme, Indexes: map[string]store.Indexer{},
		Resync: c.o.Resync, OnProblem: c.o.OnProblem, Logger: c.o.Logger,
		Audit: c.o.Audit,
	}
	o.Reflector.Limiter, o.Reflector.Within = c.o.Limiter, s.within
	c.configure(&o)
	o.Logger = logguard.Logger(o.Logger)
	if !s.sel.MetadataOnly {
		for name, by := range c.indexes[s.kind.GVK] {
			if o.Indexes[name] == nil { // one of Configure has precedence
				o.Indexes[name] = by
			}
		}
	}
	in, err := informer.New(c.conn.Source(s.kind.GVK, s.sel), o)
	if err != nil {
		return err
	}
	if s.replaced != nil {
		close(s.replaced)
	}
	s.current.Store(in)
	s.replaced = make(chan struct{})
	return nil
}

// start runs the informer as part of the cache. c.mu is held.
func (c *Cache) start(s *shared) {
	in := s.informer()
	ctx, cancel := context.WithCancelCause(c.ctx)
	s.cancel = cancel
	c.group.Go("", func(context.Context) error {
		defer cancel(nil)
		if err := in.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	})
}

// Run runs the informers of open kinds, and of kinds opened later, until ctx ends. It returns the
// cause of ctx when all informers have ended. It may be called again after it has returned; while it
// runs that is a [run.ErrRunning]. Then every open kind starts afresh, with its indexes and without
// its registrations.
func (c *Cache) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.group != nil {
		c.mu.Unlock()
		return fmt.Errorf("cache: %w", run.ErrRunning)
	}
	group, ctx := run.New(ctx)
	c.group, c.ctx = group, ctx
	for _, s := range c.sorted() {
		c.start(s)
	}
	c.mu.Unlock()
	group.Go("", func(ctx context.Context) error {
		<-ctx.Done() // the group lives, also while nothing is open
		return nil
	})
	err := group.Wait()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.group, c.ctx = nil, nil
	for _, s := range c.shared {
		if failed := c.renew(s); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// WaitForSync waits until every open kind has synced, and returns nil. If ctx ends first, it
// returns an *informer.SyncError with the kinds that have not synced, and the reasons.
func (c *Cache) WaitForSync(ctx context.Context) error {
	for {
		s, replaced := c.unsynced()
		if s == nil {
			return nil
		}
		select {
		case <-s.informer().Synced():
		case <-replaced:
		case <-s.closed:
		case <-ctx.Done():
			e := &informer.SyncError{Cause: context.Cause(ctx)}
			for _, in := range c.informers() {
				var missing *informer.NotSyncedError
				if _, err := in.Snapshot(); errors.As(err, &missing) {
					e.Missing = append(e.Missing, missing)
				}
			}
			return e
		}
	}
}

// unsynced returns one that has not synced, or nil, and its channel replaced.
func (c *Cache) unsynced() (*shared, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shared {
		if !s.informer().HasSynced() {
			return s, s.replaced
		}
	}
	return nil, nil
}

// informers returns the open informers, sorted by kind and selection.
func (c *Cache) informers() []*informer.Informer {
	c.mu.Lock()
	defer c.mu.Unlock()
	sorted := c.sorted()
	all := make([]*informer.Informer, len(sorted))
	for i, s := range sorted {
		all[i] = s.informer()
	}
	return all
}

// sorted returns the informers by kind and selection. c.mu is held.
func (c *Cache) sorted() []*shared {
	return slices.SortedFunc(maps.Values(c.shared), func(a, b *shared) int {
		return cmp.Or(
			cmp.Compare(a.kind.GVK.String(), b.kind.GVK.String()),
			cmp.Compare(a.sel.String(), b.sel.String()))
	})
}
