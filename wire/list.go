package wire

import (
	"io"
)

// ListMeta is what a list says about itself.
type ListMeta struct {
	// ResourceVersion is the state of the kind that the list shows. A watch goes on from there.
	ResourceVersion string
	// Continue asks for the next page. It is empty on the last.
	Continue string
	// Remaining is about how many objects the pages after this one hold; nil if the server did not say.
	Remaining *int64
	// Metadata says that it is a list of PartialObjectMetadata.
	Metadata bool
}

// List splits the body of a list into its objects, while it arrives. It is used by one goroutine;
// only Close may be called from another, which ends a Next that waits.
type List struct {
	body  io.Closer
	items lister
	read  *window // of items
	err   error   // sticky
}

// lister is a list of one encoding.
type lister interface {
	next() (Raw, error)
	meta() ListMeta
}

// NewList reads the body of a list of this kind. The body belongs to the List, also after an
// error, when it has been closed. A content type that is neither JSON nor protobuf, or that of a
// watch, is a *[ContentTypeError].
//
// NewList itself reads only the start of a body that it refuses.
func NewList(body io.ReadCloser, contentType string, kind *Kind, lim Limits) (*List, error) {
	enc, watch, err := ParseContentType(contentType)
	if err != nil || watch {
		return nil, wrongContent(contentType, body)
	}
	l := &List{body: body}
	if enc == Protobuf {
		items := &protoList{s: newProtoStream(body, lim), kind: kind}
		l.items, l.read = items, &items.s.window
	} else {
		items := &jsonList{s: newJSONStream(body, lim), kind: kind}
		l.items, l.read = items, &items.s.window
	}
	return l, nil
}

// Next returns the next object, in the order of the list. Its bytes are lent, until the next call: to
// keep them, see [Raw.Clone]. Next blocks on the body only.
//
// After the last object the error is [io.EOF], but only if the whole list was sound to its end: a
// list of the wrong kind may say so late. A *[DecodeError] concerns one object (in JSON, one that
// says it is of another kind), and Next may be called on. Every other error is final; see the
// package comment. Objects whose metadata is bad are returned; [Raw.Header] says what is wrong.
func (l *List) Next() (Raw, error) {
	if l.err != nil {
		return Raw{}, l.err
	}
	raw, err := l.items.next()
	if err != nil && !concernsOne(err) {
		l.err = err
	}
	return raw, err
}

// BeforeRead has Next call f each time before it reads the body, as [Watch.BeforeRead] does.
func (l *List) BeforeRead(f func()) { l.read.before = f }

// Meta is what the list says about itself. It is complete once Next has returned [io.EOF].
func (l *List) Meta() ListMeta { return l.items.meta() }

// Close closes the body. It may be called twice.
func (l *List) Close() error { return l.body.Close() }

func concernsOne(err error) bool {
	_, ok := err.(*DecodeError)
	return ok
}
