package wire

import "io"

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

// List is the body of a list, and a parser that splits it into its objects. Take returns what is
// complete, Fill reads. It is for one goroutine; Close may be called from another, and ends a Fill.
type List struct {
	body  io.ReadCloser
	items lister
	read  *window // of items
	err   error   // of Take; it stays
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
		items := &protoList{s: newProtoStream(lim), kind: kind}
		l.items, l.read = items, &items.s.window
	} else {
		items := &jsonList{s: newJSONStream(lim), kind: kind}
		l.items, l.read = items, &items.s.window
	}
	return l, nil
}

// Take returns the next object, in the order of the list, or ErrIncomplete if it is not complete yet. Its bytes
// are lent until the next Take or Fill: to keep them, see [Raw.Clone]. Take reads nothing.
//
// After the last object the error is [io.EOF], but only if the whole list was sound to its end: a
// list of the wrong kind may say so late. A *[DecodeError] concerns one object (in JSON, one that
// says it is of another kind), and Take may be called on. Every other error is final; see the
// package comment. Objects whose metadata is bad are returned; [Raw.Header] says what is wrong.
func (l *List) Take() (Raw, error) {
	if l.err != nil {
		return Raw{}, l.err
	}
	raw, err := l.items.next()
	if err != nil && err != ErrIncomplete && !IsObjectError(err) {
		l.err = err
	}
	return raw, err
}

// Fill reads the body once, and blocks until something comes. Take returns what goes wrong.
func (l *List) Fill() { l.read.fill(l.body) }

// Next takes the next object, and fills until it is complete.
func (l *List) Next() (Raw, error) {
	for {
		raw, err := l.Take()
		if err != ErrIncomplete {
			return raw, err
		}
		l.Fill()
	}
}

// Meta is what the list says about itself. It is complete once Take has returned [io.EOF].
func (l *List) Meta() ListMeta { return l.items.meta() }

// Close closes the body. It may be called twice.
func (l *List) Close() error { return l.body.Close() }
