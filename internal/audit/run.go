package audit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// Source lists the metadata of the watched objects. A client.Feed is one.
type Source interface {
	ListMetadata(ctx context.Context, q wire.ListQuery) (*wire.List, error)
}

// Permit is the permission to list: a *reflector.Permit.
type Permit interface {
	Progress()
	Release()
}

// Options configure one audit.
type Options struct {
	Core   *Core
	Source Source
	// Acquire waits for the permission to list.
	Acquire func(context.Context) (Permit, error)
	// Objects is about how many objects exist.
	Objects int
	// Key returns the key under which a listed object is stored; false if it is not stored.
	Key func(object.Key) (object.Key, bool)
	// Held returns the stored state of an object.
	Held func(object.Key) State
	// Observe returns the position of the watch, and the stored states of that moment or later.
	Observe func() (Watch, Holding)
}

// Run makes one audit. It returns the last Action: Repair or Done. Once ctx has ended the action
// must be ignored.
func Run(ctx context.Context, o Options) Action {
	s := shell{Options: o}
	defer s.release()
	w, _ := o.Observe()
	a := o.Core.Begin(time.Now(), w, o.Objects)
	for {
		if a.Do != List || a.First {
			s.release()
		}
		if a.Do == Repair || a.Do == Done {
			return a
		}
		if err := run.Sleep(ctx, a.Pause); err != nil {
			return o.Core.Fail(err)
		}
		if a.Do == Look {
			w, held := o.Observe()
			a = o.Core.Look(time.Now(), w, held)
			continue
		}
		var err error
		if a, err = s.list(ctx, a); err != nil {
			return o.Core.Fail(err)
		}
	}
}

// shell reads the pages of a list.
type shell struct {
	Options
	permit  Permit
	listCtx context.Context // limits the list
	cancel  context.CancelFunc
}

func (s *shell) release() {
	if s.permit != nil {
		s.permit.Release()
		s.cancel()
		s.permit = nil
	}
}

// list reads a page.
func (s *shell) list(ctx context.Context, a Action) (Action, error) {
	if a.First {
		var err error
		if s.permit, err = s.Acquire(ctx); err != nil {
			s.permit = nil
			return Action{}, err
		}
		s.listCtx, s.cancel = context.WithTimeoutCause(ctx, MaxList, ErrStalled)
	}
	version, next, err := s.page(a.Continue)
	if err != nil {
		return Action{}, err
	}
	w, held := s.Observe()
	return s.Core.Page(time.Now(), version, next, w, held), nil
}

func (s *shell) page(token string) (version, next string, err error) {
	ctx, cancel := context.WithCancelCause(s.listCtx)
	defer cancel(nil)
	stalled := time.AfterFunc(MaxPage, func() { cancel(ErrStalled) })
	defer stalled.Stop()
	list, err := s.Source.ListMetadata(ctx, wire.ListQuery{Continue: token, Limit: PageSize})
	if err != nil {
		return "", "", causeOf(ctx, err)
	}
	defer list.Close()
	for {
		raw, err := list.Next()
		one, bad := errors.AsType[*wire.DecodeError](err)
		switch {
		case err == io.EOF && !list.Meta().Metadata:
			return "", "", ErrNoMetadata
		case err == io.EOF:
			return list.Meta().ResourceVersion, list.Meta().Continue, nil
		case bad:
			s.item(object.Header{Key: one.Key}, true)
		case err != nil:
			return "", "", causeOf(ctx, err)
		default:
			h, err := raw.Header()
			if one, ok := errors.AsType[*wire.DecodeError](err); ok {
				h.Key = one.Key
			}
			s.item(h, err != nil)
		}
		stalled.Reset(MaxPage)
		s.permit.Progress()
	}
}

// item passes an object of a page to the core. named says that only the key may be known.
func (s *shell) item(h object.Header, named bool) {
	key, ok := s.Key(h.Key)
	if !ok {
		return
	}
	listed := State{There: true, UID: h.UID, Version: h.ResourceVersion, Named: named}
	if key.Name == "" {
		s.Core.Item(object.Key{}, listed, State{})
		return
	}
	s.Core.Item(key, listed, s.Held(key))
}

// causeOf returns the cause of a failed list: the expired time limit, if there is one.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var other *wire.KindError
	rejected, ok := errors.AsType[*client.RejectedError](err)
	if ok && rejected.Status().Code == http.StatusNotAcceptable || errors.As(err, &other) {
		return errors.Join(ErrNoMetadata, err)
	}
	return err
}

// Void reports whether an audit was inconclusive without a fault of the server.
func Void(err error) bool {
	return errors.Is(err, ErrVoid) || errors.Is(err, ErrBehind) || errors.Is(err, ErrOlder)
}

// Unfit reports whether the server does not list metadata, or not in a comparable form.
func Unfit(err error) bool { return errors.Is(err, ErrNoMetadata) || errors.Is(err, ErrUnlike) }
