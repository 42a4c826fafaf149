package decode

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// protoParts finds the parts of a protobuf message.
type protoParts struct {
	src   []byte
	depth int
}

func readProto(src []byte, root *part) error {
	r := protoParts{src: src}
	return r.message(root, 0, len(src))
}

// message reads the content of a message.
func (r *protoParts) message(p *part, from, to int) error {
	if r.depth++; r.depth > partDepth {
		return errTooDeep
	}
	p.from, p.to = from, to
	c := protoscan.Cursor{B: r.src[:to], I: from}
	for start := from; c.Next(); start = c.I {
		field := span{start, c.I}
		place, known := p.at.places[c.Num]
		switch {
		case !known:
			p.unknown = append(p.unknown, foreign{fmt.Sprintf("field %d", c.Num), field})
			p.hasUnknown = true
		case p.at.fields[place].sub != nil && c.Type == protoscan.Bytes:
			if err := r.sub(p, place, item{span: field, num: c.Num}, c.From); err != nil {
				return err
			}
		case place == p.keyField-1 && c.Type == protoscan.Bytes:
			p.key = string(c.Bytes())
		case place == p.keyField-1:
			p.key = string(r.src[start:c.I])
		}
	}
	if c.Err != nil {
		return errMalformed
	}
	r.depth--
	return nil
}

// sub reads a field with a part as its value: a message, or an element of a list or map.
// Its content begins at from.
func (r *protoParts) sub(p *part, place int, it item, from int) error {
	c := p.child(place)
	c.field = it.span
	it.part = c
	if c.at.kind != partMessage {
		it.part = c.elem()
		if c.at.kind == partMap {
			it.part.keyField = 1
		}
	}
	if err := r.message(it.part, from, it.to); err != nil {
		return err
	}
	p.items = append(p.items, it)
	c.hasUnknown = c.hasUnknown || it.part.hasUnknown
	p.hasUnknown = p.hasUnknown || c.hasUnknown
	return nil
}

func writeProto(d *document) []byte { return d.appendProto(nil, d.root) }

// appendProto appends the content of a message with the fields added to it.
func (d *document) appendProto(out []byte, p *part) []byte {
	if !p.changed {
		return append(out, d.src[p.from:p.to]...)
	}
	at := p.from
	for _, it := range p.items {
		if !it.part.changed {
			continue
		}
		content := d.appendProto(nil, it.part)
		out = append(out, d.src[at:it.from]...)
		out = protowire.AppendBytes(protowire.AppendTag(out, protowire.Number(it.num), protowire.BytesType), content)
		at = it.to
	}
	return append(append(out, d.src[at:p.to]...), slices.Concat(p.add...)...)
}
