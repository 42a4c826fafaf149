package decode

import (
	"errors"
	"slices"
)

var errJSON = errors.New("decode: the document is not well-formed")

// jsonParts finds the parts of a JSON document. Its methods return the offset after the part, or
// -1.
type jsonParts struct {
	src   []byte
	depth int
	names reader // of the same document
}

func parseJSON(src []byte, o *outline) (*document, error) {
	d := &document{src: src}
	if o == nil {
		return d, nil
	}
	r := jsonParts{src: src, names: reader{src: src}}
	d.root = &part{at: o}
	end := r.value(d.root, skipSpace(src, 0))
	switch {
	case r.depth > partDepth:
		return nil, errTooDeep
	case end < 0 || skipSpace(src, end) != len(src):
		return nil, errJSON
	}
	d.hasUnknown = d.root.hasUnknown
	return d, nil
}

// value reads the value of a part.
func (r *jsonParts) value(p *part, i int) int {
	if at(r.src, i) == 'n' {
		p.from, p.null = i, true
		p.to = literal(r.src, i, "null")
		return p.to
	}
	if r.depth++; r.depth > partDepth {
		return -1
	}
	open := byte('{')
	if p.at.kind == partList {
		open = '['
	}
	if at(r.src, i) != open {
		return -1
	}
	p.from = i + 1
	p.keys()
	end := open + 2 // ']' and '}' are two after '[' and '{'
	i = skipSpace(r.src, i+1)
	for more := at(r.src, i) != end; more; {
		switch p.at.kind {
		case partList:
			i = r.elem(p, i)
		case partMap:
			i = r.entry(p, i)
		default:
			i = r.member(p, i)
		}
		if i < 0 {
			return -1
		}
		if i = skipSpace(r.src, i); at(r.src, i) == ',' {
			i = skipSpace(r.src, i+1)
		} else if more = false; at(r.src, i) != end {
			return -1
		}
	}
	p.to = i
	r.depth--
	return i + 1
}

func (r *jsonParts) elem(p *part, i int) int {
	e := p.elem()
	i = r.value(e, i)
	p.hasUnknown = p.hasUnknown || e.hasUnknown
	return i
}

func (r *jsonParts) entry(p *part, i int) int {
	name, i := r.names.name(i)
	if i < 0 {
		return -1
	}
	i = r.elem(p, i)
	p.elems[len(p.elems)-1].key = string(name)
	return i
}

// member reads a field of a message.
func (r *jsonParts) member(p *part, start int) int {
	name, i := r.names.name(start)
	if i < 0 {
		return -1
	}
	n, known := p.at.names[string(name)]
	if known && p.at.fields[n].sub != nil {
		c := &part{at: p.at.fields[n].sub}
		if i = r.value(c, i); i < 0 {
			return -1
		}
		if c.field = (span{start, i}); !c.null {
			if p.children == nil {
				p.children = make([]*part, len(p.at.fields))
			}
			p.children[n] = c
			p.hasUnknown = p.hasUnknown || c.hasUnknown
		}
		return i
	}
	from := i
	if i = skip(r.src, i, 0); i < 0 {
		return -1
	}
	if !known {
		p.unknown = append(p.unknown, foreign{string(name), span{start, i}})
		p.hasUnknown = true
	} else if n == p.keyField-1 {
		p.key = string(r.src[from:i])
	}
	return i
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
		empty := skipSpace(d.src, p.from) == p.to
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
