package client

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// heldFunc returns a version of an object as the server sent it; see [Live.HeldBy].
type heldFunc = func(kind schema.GroupVersionKind, key object.Key, uid types.UID, version string) (body []byte, protobuf, ok bool)

// HeldBy returns a client whose [Update] asks held for the version that was read before it asks the
// server. It saves a request for each update of an object that has fields which its Go type lacks. The
// new client shares everything else with c, which does not change.
//
// held returns the version with all fields that the server sent, except metadata.managedFields, as JSON or
// protobuf. The caller owns the bytes. False: that version, or some of its fields, are not held. It must not block.
func (c *Live) HeldBy(held heldFunc) *Live {
	d := *c
	d.held = held
	return &d
}

// DropUnknown lets an [Update] or [UpdateStatus] remove the fields that the object's Go type does not
// have. It lets a patch by [Diff] remove those of elements of the lists that it changes.
type DropUnknown struct{}

// ApplyToWrite implements [WriteOption].
func (DropUnknown) ApplyToWrite(op *Op) { op.DropUnknown = true }

// UnknownFieldsError is the error for an update, or for a patch by [Diff], that could have removed fields which the
// object's Go type does not have. Nothing was sent. [DropUnknown] lets the write remove them. A patch by [Diff] removes
// none outside the lists that it changes.
type UnknownFieldsError struct {
	Call
	// cause is a [*decode.PlaceError] if the place of the fields is ambiguous, else the error of
	// reading the object again.
	cause error
}

func (e *UnknownFieldsError) Error() string {
	return fmt.Sprintf("%s: would remove fields that the Go type does not have: %v", e.Call, e.cause)
}

// Unwrap returns the cause. A [*decode.PlaceError] names the fields and their places.
func (e *UnknownFieldsError) Unwrap() error { return e.cause }

var errOtherForm = errors.New("the object was read in another encoding")

// building returns the function that makes the request of a write: that of the plan, with the unknown
// fields put back into the body.
func (c *Live) building(ctx context.Context, p *plan) func(plain bool) (*request, error) {
	restored := c.restored
	switch {
	case p.op.Verb == verbPatch && p.op.Patch.lists != nil && !p.op.DropUnknown:
		restored = c.withLists
	case !p.mayLose():
		return p.build
	}
	return func(plain bool) (*request, error) {
		r, err := p.build(plain)
		if err != nil {
			return nil, err
		}
		if r.body, err = restored(ctx, p, r); err != nil {
			return nil, err
		}
		return r, nil
	}
}

// mayLose reports whether the write replaces an object that was read, and whose Go type has lacked
// fields of some object before.
func (p *plan) mayLose() bool {
	o := p.answer
	return p.op.Verb == verbUpdate && !p.op.DropUnknown && formOf(o) == typed &&
		o.GetUID() != "" && o.GetResourceVersion() != "" && wire.Partial(o)
}

// restored is the body of a request with the unknown fields of the version that was read. If the server
// has another version by now, or none, the body stays as it is: the server refuses it.
func (c *Live) restored(ctx context.Context, p *plan, r *request) ([]byte, error) {
	enc, _, err := wire.ParseContentType(r.contentType)
	if err != nil {
		return nil, err
	}
	read, ok, err := c.asRead(ctx, p, p.answer, enc, false)
	return r.keeping(ctx, ok, err, func() ([]byte, error) { return wire.Restore(r.body, p.answer, read) })
}

// keeping is the body that restore makes. If no version was found, it is the body as it is. What fails is an
// [UnknownFieldsError], but for the end of ctx.
func (r *request) keeping(ctx context.Context, found bool, err error, restore func() ([]byte, error)) ([]byte, error) {
	if err == nil && !found {
		return r.body, nil
	}
	var body []byte
	if err == nil {
		body, err = restore()
	} else if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, &UnknownFieldsError{r.call, err}
	}
	return body, nil
}

// asRead is the version of an object that a write is based on, as the server sent it: from memory, from the holder, or
// from the server. ok is false if the server has no object, or, without newer, another version.
func (c *Live) asRead(ctx context.Context, p *plan, o object.Object, enc wire.Encoding, newer bool) (read wire.Raw, ok bool, err error) {
	key, uid, version := p.target.call.Key, o.GetUID(), o.GetResourceVersion()
	if uid != "" && version != "" {
		if read, ok = c.originals.find(o, uid, version); ok && serves(read, o, enc) {
			return read, true, nil
		}
		if c.held != nil && p.op.Body == nil {
			body, protobuf, ok := c.held(p.kind.GVK, key, uid, version)
			read := wire.Raw{Kind: p.kind, Bytes: body}
			if read.Encoding = wire.JSON; protobuf {
				read.Encoding = wire.Protobuf
			}
			if ok && serves(read, o, enc) {
				return read, true, nil
			}
		}
	}
	if read, err = c.readAgain(ctx, p, o, enc); err != nil {
		_, gone := errors.AsType[*NotFoundError](err)
		_, never := errors.AsType[*NotServedError](err)
		if gone || never { // the write gets the same answer
			err = nil
		}
		return wire.Raw{}, false, err
	}
	if !newer {
		h, err := read.Header()
		if err != nil || h.UID != uid || h.ResourceVersion != version {
			return wire.Raw{}, false, err
		}
	}
	if !serves(read, o, enc) {
		return wire.Raw{}, false, errOtherForm
	}
	return read, true, nil
}

// readAgain reads from the server what a write is about.
func (c *Live) readAgain(ctx context.Context, p *plan, o object.Object, enc wire.Encoding) (wire.Raw, error) {
	subresource := ""
	if p.op.Body != nil { // it has fields of its own
		subresource = p.op.Subresource
	}
	t, err := c.resolve(ctx, verbGet, p.target.gvk, p.target.call.Key, subresource, false)
	if err != nil {
		return wire.Raw{}, err
	}
	kind := c.wireKind(p.kind.GVK, o)
	resp, err := c.get(ctx, t, kind, enc, request{})
	if err != nil {
		return wire.Raw{}, err
	}
	return t.read(kind, resp)
}

// serves reports whether unknown fields of read can be put into a body of the encoding: read has the
// same encoding, or no unknown fields.
func serves(read wire.Raw, o object.Object, enc wire.Encoding) bool {
	if read.Encoding == enc {
		return true
	}
	more, err := read.Unknown(o)
	return err == nil && !more
}
