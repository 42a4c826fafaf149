package client

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Holder has objects as they came from the server: a cache.
type Holder interface {
	// Held returns the version of an object with all that the server sent, metadata.managedFields
	// excepted, in memory of the caller's. False: it is not at hand, or not all of it. It must not
	// block.
	Held(kind schema.GroupVersionKind, key object.Key, uid types.UID, version string) (wire.Raw, bool)
}

// HeldBy returns a client that asks h for what an [Update] needs of the object as it was read, before
// it asks the server. Everything else is shared with c, which itself stays as it is. It matters only
// where the server knows fields that the Go types do not: it saves a request for each update.
func (c *Live) HeldBy(h Holder) *Live {
	d := *c
	d.holder = h
	return &d
}

// DropUnknown lets an [Update] or [UpdateStatus] remove the fields that the Go type of the object does
// not have.
type DropUnknown struct{}

// ApplyToWrite implements [WriteOption].
func (DropUnknown) ApplyToWrite(op *Op) error {
	op.DropUnknown = true
	return nil
}

// UnknownFieldsError is the error for an update that could have removed fields that the Go type of the
// object does not have. Nothing was sent. A patch of what changed ([Diff]) leaves them alone, and
// [DropUnknown] lets them go.
type UnknownFieldsError struct {
	Call
	// cause is a [*decode.PlaceError] where it cannot be told where the fields belong; else why the
	// object could not be read again.
	cause error
}

func (e *UnknownFieldsError) Error() string {
	return fmt.Sprintf("%s: would remove fields that the Go type does not have: %v", e.Call, e.cause)
}

// Unwrap returns the cause: a [*decode.PlaceError] names the fields, and where they were.
func (e *UnknownFieldsError) Unwrap() error { return e.cause }

var errOtherForm = errors.New("the object was read in another encoding")

// building is what makes the requests of a write: those of its plan, with what the Go type of the
// object does not know.
func (c *Live) building(ctx context.Context, p *plan) func(plain bool) (*request, error) {
	if !p.mayLose() {
		return p.build
	}
	return func(plain bool) (*request, error) {
		r, err := p.build(plain)
		if err != nil {
			return nil, err
		}
		if r.body, err = c.restored(ctx, p, r); err != nil {
			return nil, err
		}
		return r, nil
	}
}

// mayLose reports whether the write replaces an object that was read by one of a Go type which did not
// know all fields of all objects so far.
func (p *plan) mayLose() bool {
	o := p.answer
	return p.op.Verb == VerbUpdate && !p.op.DropUnknown && formOf(o) == typed &&
		o.GetUID() != "" && o.GetResourceVersion() != "" && wire.Partial(o)
}

// restored is the body of a request with the unknown fields of the version that was read. Where the
// server has another version by now, or none, it is left as it is: the server refuses it.
func (c *Live) restored(ctx context.Context, p *plan, r *request) ([]byte, error) {
	enc, _, err := wire.ParseContentType(r.contentType)
	if err != nil {
		return nil, err
	}
	read, ok, err := c.asRead(ctx, p, enc)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, &UnknownFieldsError{r.call, err}
	case !ok:
		return r.body, nil
	}
	body, err := wire.Restore(r.body, p.answer, read)
	if err != nil {
		return nil, &UnknownFieldsError{r.call, err}
	}
	return body, nil
}

// asRead is the object of an update in the version that the update is of, as the server sent it: what
// is at hand, or what the server has, if that is it.
func (c *Live) asRead(ctx context.Context, p *plan, enc wire.Encoding) (read wire.Raw, ok bool, err error) {
	o, key := p.answer, p.target.call.Key
	uid, version := o.GetUID(), o.GetResourceVersion()
	if read, ok = c.recent.find(o, uid, version); ok && serves(read, o, enc) {
		return read, true, nil
	}
	if c.holder != nil && p.op.Body == nil {
		if read, ok = c.holder.Held(p.gvk, key, uid, version); ok && serves(read, o, enc) {
			return read, true, nil
		}
	}
	get := GetOptions{Kind: p.gvk}
	if p.op.Body != nil { // the subresource has fields of its own
		get.Parent, get.Subresource = p.target.gvk, p.op.Subresource
	}
	if read, err = c.fetch(ctx, key, o, get); err != nil {
		_, gone := errors.AsType[*NotFoundError](err)
		_, never := errors.AsType[*NotServedError](err)
		if gone || never { // as the update will find out
			err = nil
		}
		return wire.Raw{}, false, err
	}
	h, err := read.Header()
	switch {
	case err != nil:
		return wire.Raw{}, false, err
	case h.UID != uid || h.ResourceVersion != version:
		return wire.Raw{}, false, nil
	case !serves(read, o, enc):
		return wire.Raw{}, false, errOtherForm
	}
	return read, true, nil
}

// serves reports whether what was read can be put into a body of the encoding: it is in the same one, or
// there is nothing to be put.
func serves(read wire.Raw, o object.Object, enc wire.Encoding) bool {
	if read.Encoding == enc {
		return true
	}
	more, err := read.Unknown(o)
	return err == nil && !more
}
