package decode

import (
	"errors"
	"fmt"
)

// document is the parts of one document in which unknown fields can be.
type document struct {
	src  []byte
	root *part
	more bool // there are unknown fields
}

// part is a message, list or map of a document.
type part struct {
	at       *outline
	from, to int  // its content: of JSON without the braces, of protobuf without tag and length
	field    span // the field of a message that it is the value of, name or tag included
	more     bool // there are unknown fields in it, or in what is in it

	unknown  []foreign
	children []*part // of a message, by field; nil: not there, or taken as a whole
	elems    []*part // of a list, and of a map
	key      string  // of an element of a list or map, as it is written
	keyField int     // of an element of a list: the field that is the key, and one
	elemKey  int     // of a list: the keyField of its elements
	null     bool    // JSON: nothing can be put into it

	items []item   // protobuf: the fields of a message whose value is a part, in their order
	add   [][]byte // fields to be put in
	grew  bool     // something is put into it, or into what is in it
}

// span is a piece of a document.
type span struct{ from, to int }

// foreign is a field that the type does not have.
type foreign struct {
	name string
	span
}

// item is a field of a protobuf message with a part for a value.
type item struct {
	span       // tag, length and content
	tag  int   // where the length begins
	part *part // the content
}

// form is one of the two encodings.
type form struct {
	outlines *outlines
	// parse finds the parts of a document; o may be nil.
	parse func(src []byte, o *outline) (*document, error)
	// write is the document with what was added to its parts.
	write func(*document) []byte
}

var (
	jsonForm  = form{newOutlines(outlineJSON), parseJSON, writeJSON}
	protoForm = form{newOutlines(outlineProto), parseProto, writeProto}
)

var errTooDeep = errors.New("nested too deeply")

// partDepth is how deep parts may be in each other.
const partDepth = 1000

func (d *document) text(s span) []byte { return d.src[s.from:s.to] }

func (p *part) text(d *document) string { return string(d.src[p.from:p.to]) }

// keys finds out what the elements of a list are told apart by.
func (p *part) keys() {
	if p.at.kind == partList {
		p.elemKey = p.at.key() + 1
	}
}

// elem is one more element of a list or map.
func (p *part) elem() *part {
	e := &part{at: p.at.elem, keyField: p.elemKey}
	p.elems = append(p.elems, e)
	return e
}

// child is the part of a field of a message. Where a field comes in pieces they share it.
func (p *part) child(n int) *part {
	if p.children == nil {
		p.children = make([]*part, len(p.at.fields))
	}
	c := p.children[n]
	if c == nil {
		c = &part{at: p.at.fields[n].sub}
		c.keys()
		p.children[n] = c
	}
	return c
}

// PlaceError says that fields which a Go type does not have cannot be put back: it is not known
// where they belong.
type PlaceError struct {
	// Field is the path of the list in which they were.
	Field string
	// Names are those of the fields; "field 12" where the encoding has numbers for names.
	Names []string
	// Problem is what stands in the way.
	Problem string
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s: fields that the Go type does not have, %q: %s", e.Field, e.Names, e.Problem)
}
