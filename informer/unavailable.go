package informer

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/reflector"
)

// UnavailableError says that the server answers as if it did not serve the kind, and nothing proves that it is
// gone. The held objects may be out of date. Handlers and sources got no deletes. Reads fail until
// the next complete list, unless they have the option EvenUnavailable. It is an [object.ErrNoAnswer].
type UnavailableError struct {
	noAnswer
	Kind      schema.GroupVersionKind
	Selection client.Selection
	// Since is when the kind became unavailable.
	Since time.Time
	// Served lists the versions of the kind that the server serves instead of Kind.Version, if any.
	Served []string
	// Err is the cause, a *reflector.Error.
	Err error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s: unavailable since %s: %v", subject(e.Kind, e.Selection), e.Since.Format(time.RFC3339), e.Err)
}

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ReadOption changes how an informer answers a read.
type ReadOption uint8

// EvenUnavailable reads the held objects even while the kind is unavailable. Without it such a read returns an
// *UnavailableError.
const EvenUnavailable ReadOption = 1

// availability says whether the informer answers reads. The reflector's goroutine sets err. The applier clears
// it when the store has a later list.
type availability struct {
	err     atomic.Pointer[unavailable] // nil: reads are answered
	pushed  uint64                      // lists that the reflector completed; its goroutine owns the field
	applied atomic.Uint64               // lists that the store has
}

// unavailable is valid until the store has more than after lists.
type unavailable struct {
	UnavailableError
	after uint64
}

// update takes a new state of the reflector.
func (a *availability) update(in *Informer, s reflector.State) {
	if s.UnavailableSince.IsZero() {
		return // replaced clears err when the list is in the store
	}
	u := &unavailable{after: a.pushed, UnavailableError: UnavailableError{
		Kind: in.o.Kind.GVK, Selection: in.o.Selection, Since: s.UnavailableSince, Err: s.Err,
	}}
	if m, ok := errors.AsType[*reflector.MissingError](s.Err); ok && m.Unknown == nil && !m.Here {
		u.Served = m.Elsewhere
	}
	if was := a.err.Load(); u.Err == nil && was != nil { // a list is in progress
		u.Err, u.Served = was.Err, was.Served
	}
	a.err.Store(u)
}

// replaced counts a list of the store. The applier calls it.
func (a *availability) replaced() {
	n := a.applied.Add(1)
	if u := a.err.Load(); u != nil && n > u.after {
		a.err.CompareAndSwap(u, nil)
	}
}

// check returns an *UnavailableError, or nil.
func (a *availability) check() error {
	u := a.err.Load()
	if u == nil || a.applied.Load() > u.after {
		return nil
	}
	return &u.UnavailableError
}

// Unavailable returns an *UnavailableError, the error of reads, while the kind is unavailable; else nil.
func (in *Informer) Unavailable() error { return in.avail.check() }

// readable returns an error if reads cannot be answered now.
func (in *Informer) readable(even bool) error {
	if !in.HasSynced() {
		return in.notSynced()
	}
	if even {
		return nil
	}
	return in.avail.check()
}

func even(opts []ReadOption) bool { return len(opts) > 0 && opts[0] == EvenUnavailable }
