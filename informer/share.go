package informer

import (
	"context"
	"sync"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/logguard"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// shared is an informer of a factory and those who have it open. f.mu guards what changes.
type shared struct {
	f    *Factory
	key  shareKey
	kind Kind
	sel  client.Selection
	gone chan struct{} // closed with the last share

	users    int
	in       *Informer
	replaced chan struct{} // closed when another informer takes the place of in
	cancel   context.CancelCauseFunc
	indexes  map[string]store.Indexer
}

// renew makes the informer, for the first time or for another run.
func (s *shared) renew() error {
	o := Options{
		Kind: s.kind, Selection: s.sel, Scheme: s.f.conn.Scheme,
		Indexes: make(map[string]store.Indexer), Resync: s.f.o.Resync,
		OnProblem: s.f.o.OnProblem, Logger: s.f.o.Logger,
		Audit: s.f.o.Audit, AuditLimiter: s.f.audits,
	}
	o.Reflector.Limiter = s.f.o.Limiter
	if s.f.o.Configure != nil {
		s.f.o.Configure(&o)
	}
	o.Logger = logguard.Logger(o.Logger)
	for name, f := range s.indexes {
		o.Indexes[name] = f
	}
	in, err := New(s.f.conn.Source(s.kind.GVK, s.sel), o)
	if err != nil {
		return err
	}
	if s.replaced != nil {
		close(s.replaced)
	}
	s.in, s.replaced = in, make(chan struct{})
	return nil
}

// start runs the informer as part of the factory. f.mu is held.
func (s *shared) start() {
	in := s.in
	ctx, cancel := context.WithCancelCause(s.f.ctx)
	s.cancel = cancel
	s.f.group.Go("", func(context.Context) error {
		defer cancel(nil)
		if err := in.Run(ctx); ctx.Err() == nil {
			return err
		}
		return nil
	})
}

// Share is one user's share of an informer. All methods may be called from any goroutine.
type Share struct {
	s    *shared
	once sync.Once
}

// Informer is the informer as of now: a factory that ran and stopped makes a new one. Once the
// last share is closed it is stopped.
func (s *Share) Informer() *Informer {
	s.s.f.mu.Lock()
	defer s.s.f.mu.Unlock()
	return s.s.in
}

// Close gives the share back. The last one ends the watch; it does not wait for that, the Run of
// the factory does. Closing twice is fine.
func (s *Share) Close() { s.once.Do(s.s.release) }

func (s *shared) release() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	delete(s.f.shared, s.key)
	close(s.gone)
	if s.f.group != nil {
		s.cancel(ErrClosed)
	} else {
		s.in.abandon()
	}
}

// Fits is that of the informer.
func (s *Share) Fits(o object.Object) error { return s.Informer().Fits(o) }

// IndexEntries adds an index to the informer, and to those that take its place.
func (s *Share) IndexEntries(name string, by store.Indexer) error {
	in := s.Informer()
	if err := in.IndexEntries(name, by); err != nil {
		return err
	}
	s.s.f.mu.Lock()
	defer s.s.f.mu.Unlock()
	s.s.indexes[name] = by
	return nil
}

// IndexPath adds an index by a field path; see [Informer.IndexPath].
func (s *Share) IndexPath(path string) error {
	f, err := IndexPathFunc(s.Informer().goType(), path)
	if err != nil {
		return err
	}
	return s.IndexEntries(path, f)
}

// Typed is a Share of a kind whose Go type is known.
type Typed[T any] struct {
	*Share
	add    func(Handler[T], HandlerOptions) (*Registration, error)
	lister Lister[T]
}

func typedShare[T any, P object.Ptr[T]](s *Share) (*Typed[T], error) {
	if err := s.Fits(P(new(T))); err != nil {
		s.Close()
		return nil, err
	}
	return &Typed[T]{
		Share: s,
		add: func(h Handler[T], o HandlerOptions) (*Registration, error) {
			return AddHandler[T, P](s.Informer(), h, o)
		},
		lister: newLister[T, P](s.Informer),
	}, nil
}

// AddHandler adds a handler; see the function AddHandler. A factory that starts again has to be given
// its handlers again.
func (t *Typed[T]) AddHandler(h Handler[T], o HandlerOptions) (*Registration, error) {
	return t.add(h, o)
}

// Lister reads what the informer holds, also after the factory started again.
func (t *Typed[T]) Lister() Lister[T] { return t.lister }
