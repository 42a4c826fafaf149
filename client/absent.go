package client

import (
	"context"
	"errors"

	"github.com/flyball-io/flyball/internal/wire"
)

// whichAbsent says what a 404 of a subresource is about. A server says the same if the object does not exist
// and if its kind lacks the subresource. So the object itself is asked for, its metadata only. If that has
// no answer, the error says nothing about the object.
func (c *Live) whichAbsent(ctx context.Context, t *target, found *NotFoundError) error {
	whole := *t
	whole.call.Verb, whole.call.Subresource, whole.unusual = verbGet, "", true
	kind := &wire.Kind{GVK: t.gvk, MetadataOnly: true}
	resp, err := c.get(ctx, &whole, kind, wire.JSON, request{})
	if err == nil {
		_, err = whole.read(kind, resp)
	}
	if _, absent := errors.AsType[*NotFoundError](err); absent {
		return found
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	unserved := &NotServedError{Call: t.call, GVK: t.gvk, code: found.status.Code, said: found.status.Message, cause: noResource(t.call)}
	if err != nil {
		unserved.said = "whether the object exists is not known: " + err.Error()
		unserved.cause = errors.Join(unserved.cause, err)
	}
	return unserved
}
