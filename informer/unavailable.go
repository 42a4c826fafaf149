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

// UnavailableError says that a read was refused since the server answers as if it did not serve the
// kind, and its discovery has not confirmed that the kind is gone. What the store holds may be out of
// date, and nobody was told of deletes. It is an [object.ErrNoAnswer], and ends by itself when the
// kind is listed again. EvenUnavailable reads what is held all the same.
type UnavailableError struct {
	Kind      schema.GroupVersionKind
	Selection client.Selection
	// Since is when the kind became unavailable.
	Since time.Time
	// Served are the versions that serve the kind, if the server serves it in others than Kind.Version.
	Served []string
	// Err is why, a *reflector.Error.
	Err error
}

func (e *UnavailableError) Error() string {
	subject := e.Kind.Kind
	if s := e.Selection.String(); s != "" {
		subject += " (" + s + ")"
	}
	return fmt.Sprintf("%s: unavailable since %s: %v", subject, e.Since.Format(time.RFC3339), e.Err)
}

// Unwrap returns why.
func (e *UnavailableError) Unwrap() error { return e.Err }

// ReadOption changes how an informer is read.
type ReadOption uint8

// EvenUnavailable reads what the store holds also while the kind is unavailable, when reads are an
// *UnavailableError otherwise.
const EvenUnavailable ReadOption = 1

// availability says whether reads may be answered. The reflector's goroutine sets it; the applier
// lifts it, when the store has the content that ends it.
type availability struct {
	err     atomic.Pointer[unavailable] // nil: reads may be answered
	pushed  uint64                      // replacements that the reflector completed; its goroutine's
	applied atomic.Uint64               // those of them that the store has
}

// unavailable is set until one more replacement is applied than were completed then.
type unavailable struct {
	UnavailableError
	after uint64
}

// note takes over what the state of the reflector says.
func (a *availability) note(in *Informer, s reflector.State) {
	if s.UnavailableSince.IsZero() {
		return // content is on its way to the store, which lifts it
	}
	u := &unavailable{after: a.pushed, UnavailableError: UnavailableError{
		Kind: in.o.Kind.GVK, Selection: in.o.Selection, Since: s.UnavailableSince, Err: s.Err,
	}}
	if m, ok := errors.AsType[*reflector.MissingError](s.Err); ok && m.Unknown == nil && !m.Serving.Here {
		u.Served = m.Serving.Elsewhere
	}
	if was := a.err.Load(); u.Err == nil && was != nil { // the content is being listed again
		u.Err, u.Served = was.Err, was.Served
	}
	a.err.Store(u)
}

// replaced notes that the store has one more replacement. It is for the applier.
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

// Unavailable is the error of reads, an *UnavailableError, while the kind is unavailable; else nil.
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
