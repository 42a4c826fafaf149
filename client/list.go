package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

const defaultLimit = 500

// List implements [Reader]. It keeps one page of the answer as bytes, so a slow loop holds no connection
// open. It decodes the objects as the loop proceeds.
func (c *Live) List(ctx context.Context, proto object.Object, o ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		for p, err := range c.pages(ctx, proto, o) {
			if err != nil {
				yield(nil, err)
				return
			}
			for obj, err := range p.objects(proto) {
				if !yield(obj, err) {
					return
				}
			}
		}
	}
}

// pages yields the pages of a List. An error ends the sequence.
func (c *Live) pages(ctx context.Context, proto object.Object, o ListOptions) iter.Seq2[*rawPage, error] {
	return func(yield func(*rawPage, error) bool) {
		o := o // a sequence may be read again
		if o.Limit == 0 {
			o.Limit = defaultLimit
		}
		fromStart, yielded := o.Continue == "", false
		var guard paging.Guard
		for {
			p, err := c.page(ctx, proto, &o)
			if gone, ok := errors.AsType[*GoneError](err); ok && o.Continue != "" {
				if fromStart && !yielded {
					// No object of the old state was yielded: read the new state in one page.
					o.Continue, o.Limit = "", -1
					continue
				}
				if o.Inconsistent && gone.Continue != "" && gone.Continue != o.Continue {
					o.Continue = gone.Continue
					continue
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			yielded = yielded || len(p.items) > 0
			if !yield(p, nil) {
				return
			}
			if p.meta.Continue == "" {
				return
			}
			for range p.items {
				paging.Item(&guard, "")
			}
			if err := guard.Next(p.meta.Continue); err != nil {
				yield(nil, &ResponseError{RequestError: local(p.call, metav1.StatusReasonUnknown, http.StatusOK, err)})
				return
			}
			o.Continue = p.meta.Continue
		}
	}
}

// Page implements [PartialReader]. The page lacks objects that cannot be decoded; err then joins a
// [*wire.DecodeError] for each of them.
func (c *Live) Page(ctx context.Context, proto object.Object, o ListOptions) (Page[object.Object], error) {
	if o.Limit == 0 {
		o.Limit = defaultLimit
	}
	p, err := c.page(ctx, proto, &o)
	if err != nil {
		return Page[object.Object]{}, err
	}
	page, err := collect(p.objects(proto))
	page.Continue, page.ResourceVersion, page.Remaining = p.meta.Continue, p.meta.ResourceVersion, -1
	switch {
	case p.meta.Remaining != nil:
		page.Remaining = *p.meta.Remaining
	case p.meta.Continue == "":
		page.Remaining = 0
	}
	return page, err
}

// rawPage is one page as bytes.
type rawPage struct {
	call  Call
	items []item
	meta  wire.ListMeta
}

// objects decodes the items.
func (p *rawPage) objects(proto object.Object) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		for _, i := range p.items {
			if !yield(i.decode(proto)) {
				return
			}
		}
	}
}

// item is one object of a list, or the error for it.
type item struct {
	raw wire.Raw
	err error
}

func (i item) decode(proto object.Object) (object.Object, error) {
	if i.err != nil {
		return nil, i.err
	}
	obj := newLike(proto)
	if err := i.raw.Decode(obj); err != nil {
		return nil, err
	}
	return obj, nil
}

// page reads one page whole.
func (c *Live) page(ctx context.Context, proto object.Object, o *ListOptions) (*rawPage, error) {
	gvk, err := kindOf(verbList, c.scheme, proto, o.Kind)
	if err != nil {
		return nil, err
	}
	if o.MetadataOnly && formOf(proto) != metadataForm {
		return nil, notMetadata(verbList)
	}
	if some, err := selects(&o.Selection); err != nil || !some {
		return &rawPage{}, err
	}
	t, err := c.resolve(ctx, verbList, gvk, object.Key{Namespace: o.Namespace}, "", true)
	if err != nil {
		return nil, err
	}
	kind := c.wireKind(gvk, proto)
	list, resp, err := stream(ctx, c, t, kind, encodingFor(proto), request{query: listQuery(o)}, wire.NewList)
	if err != nil {
		return nil, err
	}
	defer list.Close()
	p := &rawPage{call: t.call}
	for {
		raw, err := list.Next()
		switch {
		case err == io.EOF:
			p.meta = list.Meta()
			return p, nil
		case err == nil || wire.IsObjectError(err):
			if err == nil {
				if err := t.inScope(raw); err != nil {
					return nil, badAnswer(t.call, resp, err)
				}
			}
			p.items = append(p.items, item{raw.Clone(), err})
		default:
			return nil, streamError(t.call, resp, err)
		}
	}
}

// notMetadata is the error for a call that asks for metadata only but for objects of another type.
func notMetadata(verb string) error {
	return &ArgumentError{Call: Call{Verb: verb}, Argument: "MetadataOnly", Problem: "is for objects of type *v1.PartialObjectMetadata"}
}

// streamError gives an error of package wire its type in this package. Failures of the connection keep
// the type that they have. A Status in the place of a list does not fit the code of the answer.
func streamError(call Call, resp *http.Response, err error) error {
	if isTyped(err) {
		return err
	}
	return badAnswer(call, resp, err)
}

// isTyped reports whether answerBody has given the error its type, or the caller's ctx has ended.
func isTyped(err error) bool {
	_, silent := errors.AsType[*TimeoutError](err)
	_, cut := errors.AsType[*UnavailableError](err)
	return silent || cut || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
