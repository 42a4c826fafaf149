package decode

import (
	"errors"
	"fmt"
	"reflect"
)

// document has the parts of one document that may have unknown fields.
type document struct {
	src        []byte
	root       *part
	hasUnknown bool // it has unknown fields
}

// part is a message, list or map of a document.
type part struct {
	at         *outline
	from, to   int  // its content: JSON without the braces, protobuf without tag and length
	field      span // the field of a message that has it as a value, name or tag included
	hasUnknown bool // it has unknown fields, at any depth

	unknown  []foreign
	children []*part // of a message, by field; nil: absent, or taken as a whole
	elems    []*part // of a list or a map
	key      string  // of an element of a list or map, as written
	keyField int     // of an element of a list: the index of its key field plus one
	elemKey  int     // of a list: the keyField of its elements
	null     bool    // JSON: cannot hold fields

	items   []item   // protobuf: the fields of a message with a part as value, in order
	add     [][]byte // fields to add
	changed bool     // fields are added to it, at any depth
}

// span is a range of a document.
type span struct{ from, to int }

// foreign is a field that the type does not have.
type foreign struct {
	name string
	span
}

// item is a field of a protobuf message with a part as its value.
type item struct {
	span       // tag, length and content
	num  int   // of the field
	part *part // the content
}

// form is one of the two encodings.
type form struct {
	outlines *tables[outline]
	// read finds the parts of a document below its root.
	read func(src []byte, root *part) error
	// write returns the document with the added fields.
	write func(*document) []byte
}

var (
	jsonForm = form{&tables[outline]{make: func(t reflect.Type) *outline {
		return outlineJSON(map[reflect.Type]*outline{}, t)
	}}, readJSON, writeJSON}
	protoForm = form{&tables[outline]{make: func(t reflect.Type) *outline {
		return outlineProto(map[reflect.Type]*outline{}, t)
	}}, readProto, writeProto}
)

// parse finds the parts of a document; o may be nil.
func (f *form) parse(src []byte, o *outline) (*document, error) {
	d := &document{src: src}
	if o == nil {
		return d, nil
	}
	d.root = &part{at: o}
	if err := f.read(src, d.root); err != nil {
		return nil, err
	}
	d.hasUnknown = d.root.hasUnknown
	return d, nil
}

var errTooDeep = errors.New("nested too deeply")

// partDepth is the greatest nesting of parts.
const partDepth = 1000

func (d *document) text(s span) []byte { return d.src[s.from:s.to] }

func (p *part) text(d *document) string { return string(d.src[p.from:p.to]) }

// keys determines the key field of a list.
func (p *part) keys() {
	if p.at.kind == partList {
		p.elemKey = p.at.key() + 1
	}
}

// elem adds an element to a list or map.
func (p *part) elem() *part {
	e := &part{at: p.at.elem, keyField: p.elemKey}
	p.elems = append(p.elems, e)
	return e
}

// child returns the part of a field of a message. A field in several pieces has one part.
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

// PlaceError says that fields which a Go type does not have cannot be put back: their place is not
// known.
type PlaceError struct {
	// Field is the path of the list that contained them.
	Field string
	// Names are the names of the fields; "field 12" if the encoding has only numbers.
	Names []string
	// Problem is the reason.
	Problem string
}

func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s: no place for fields that the Go type does not have, %q: %s", e.Field, e.Names, e.Problem)
}
