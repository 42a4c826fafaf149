package wire

import (
	"io"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListMeta is the metadata of a list.
type ListMeta struct {
	// ResourceVersion is the version of the list. A watch starts there.
	ResourceVersion string
	// Continue is the token of the next page. It is empty on the last page.
	Continue string
	// Remaining is the approximate number of objects on the pages after this one; nil if unknown.
	Remaining *int64
}

// cut reports whether more objects follow, but no page that has them: the list is not whole.
func (m *ListMeta) cut() bool { return m.Continue == "" && m.Remaining != nil && *m.Remaining > 0 }

// listMeta is the metadata of a list that is read.
type listMeta struct {
	ListMeta
	has bool // the list had it
}

// read reads the metadata in the encoding of a decoder.
func (m *listMeta) read(b []byte, decode func([]byte, any) error) error {
	if m.has {
		return errTwice
	}
	m.has = true
	var in metav1.ListMeta
	if err := decode(b, &in); err != nil {
		return err
	}
	if !utf8.ValidString(in.ResourceVersion + in.Continue) {
		return errUTF8
	}
	m.ListMeta = ListMeta{ResourceVersion: in.ResourceVersion, Continue: in.Continue, Remaining: in.RemainingItemCount}
	return nil
}

// List splits the body of a list into its objects. Take returns complete objects, and Fill reads. A List is for
// one goroutine. Close may be called from another one, and ends a Fill.
type List struct {
	source
	items lister
	err   error // the final error of Take
}

// lister is a list of one encoding.
type lister interface {
	next() (Raw, error)
	meta() ListMeta
}

// NewList returns a List that reads a body of this kind. The List owns the body; NewList closes it on an error. A
// content type that is neither JSON nor protobuf, or that of a watch, is a *[ContentTypeError].
//
// NewList reads nothing, except the start of a body that it refuses.
func NewList(body io.ReadCloser, contentType string, kind *Kind, lim Limits) (*List, error) {
	enc, watch, err := ParseContentType(contentType)
	if err != nil || watch {
		return nil, wrongContent(contentType, body)
	}
	l := &List{source: source{body: body}}
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
// are valid until the next Take or Fill; [Raw.Clone] copies them. Take reads nothing.
//
// After the last object of a valid list the error is [io.EOF]. A list may name its kind at its end, so the error
// for a wrong kind may come late. A *[DecodeError] concerns one object, such as a JSON object of another kind;
// further calls of Take return the next ones. Every other error is final; see the package comment. Objects with
// bad metadata are returned; [Raw.Header] returns the error.
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

// Next returns the next object. It calls Fill until the object is complete.
func (l *List) Next() (Raw, error) {
	for {
		raw, err := l.Take()
		if err != ErrIncomplete {
			return raw, err
		}
		l.Fill()
	}
}

// Meta returns the metadata of the list. It is complete after Take has returned [io.EOF].
func (l *List) Meta() ListMeta { return l.items.meta() }
