package decode

import (
	"errors"
	"slices"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

var errJSON = errors.New("decode: the document is not well-formed")

// jsonParts finds the parts of a JSON document.
type jsonParts struct {
	jsonscan.Reader
	depth int
}

func readJSON(src []byte, root *part) error {
	if _, _, err := jsonscan.Check(src); err != nil {
		return errJSON
	}
	r := jsonParts{Reader: jsonscan.Reader{B: src}}
	r.Space()
	return r.value(root)
}

// value reads the value of a part.
func (r *jsonParts) value(p *part) error {
	p.from = r.I
	if r.Null() {
		p.to, p.null = r.I, true
		return nil
	}
	if r.depth++; r.depth > partDepth {
		return errTooDeep
	}
	p.from++
	p.keys()
	open := byte('{')
	if p.at.kind == partList {
		open = '['
	}
	more, err := r.Begin(open)
	for more {
		if err := r.element(p); err != nil {
			return err
		}
		if more, err = r.Next(open + 2); err != nil { // the brace or bracket that shuts it
			break
		}
	}
	if err != nil {
		return errJSON
	}
	p.to = r.I - 1
	r.depth--
	return nil
}

// element reads an element of a list, or a member of a map or a message.
func (r *jsonParts) element(p *part) error {
	start, name := r.I, []byte(nil)
	if p.at.kind != partList {
		var err error
		if name, err = r.Name(); err != nil {
			return errJSON
		}
	}
	if p.at.kind != partMessage {
		e := p.elem()
		e.key = string(name)
		err := r.value(e)
		p.hasUnknown = p.hasUnknown || e.hasUnknown
		return err
	}
	n, known := p.at.names[string(name)]
	if known && p.at.fields[n].sub != nil {
		c := &part{at: p.at.fields[n].sub}
		if err := r.value(c); err != nil {
			return err
		}
		if c.field = (span{start, r.I}); !c.null {
			if p.children == nil {
				p.children = make([]*part, len(p.at.fields))
			}
			p.children[n] = c
			p.hasUnknown = p.hasUnknown || c.hasUnknown
		}
		return nil
	}
	value, err := r.Value()
	switch {
	case err != nil:
		return errJSON
	case !known:
		p.unknown = append(p.unknown, foreign{string(name), span{start, r.I}})
		p.hasUnknown = true
	case n == p.keyField-1:
		p.key = string(value)
	}
	return nil
}

// writeJSON returns the document with the added fields at the end of their parts.
func writeJSON(d *document) []byte {
	var parts []*part
	size := len(d.src)
	var find func(*part)
	find = func(p *part) {
		for _, c := range slices.Concat(p.children, p.elems) {
			if c != nil && c.changed {
				find(c)
			}
		}
		if len(p.add) > 0 {
			parts = append(parts, p)
			for _, text := range p.add {
				size += 1 + len(text)
			}
		}
	}
	find(d.root)
	slices.SortFunc(parts, func(a, b *part) int { return a.to - b.to })
	out, at := make([]byte, 0, size), 0
	for _, p := range parts {
		out = append(out, d.src[at:p.to]...)
		at = p.to
		empty := jsonscan.Space(d.src, p.from) == p.to
		for _, text := range p.add {
			if !empty {
				out = append(out, ',')
			}
			empty = false
			out = append(out, text...)
		}
	}
	return append(out, d.src[at:]...)
}
