package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/flyball-io/flyball/internal/jsonscan"
	"github.com/flyball-io/flyball/internal/protoscan"
)

// CutManagedFields returns the object without metadata.managedFields, in the memory of dst if there
// is room, else in new memory of just the size. The bytes of r stay as they are. An object that cannot
// be read is returned as it is.
func CutManagedFields(dst []byte, r Raw) Raw {
	var cut []byte
	switch r.Encoding {
	case Protobuf:
		cut = cutProtobuf(dst, r.Bytes)
	case JSON:
		cut, r.long = cutJSON(dst, r)
	}
	if cut == nil {
		return CopyTo(dst, r)
	}
	r.Bytes = cut
	return r
}

// CopyTo returns a copy of the object, in the memory of dst if there is room, else in new memory of just
// the size.
func CopyTo(dst []byte, r Raw) Raw {
	r.Bytes = append(room(dst, len(r.Bytes)), r.Bytes...)
	return r
}

// room returns an empty buffer for n bytes. It reuses dst if that is large enough.
func room(dst []byte, n int) []byte {
	if cap(dst) >= n {
		return dst[:0]
	}
	return make([]byte, 0, n)
}

// piece is a part of a message that is kept: msg[from:to]. Unless meta is negative, the header of an ObjectMeta of
// meta bytes precedes it.
type piece struct{ from, to, meta int }

// cutProtobuf returns nil if there is nothing to cut.
func cutProtobuf(dst, msg []byte) []byte {
	var some [16]piece
	pieces, from, size := some[:0], 0, 0
	c := protoscan.Cursor{B: msg}
	for start := 0; c.Next(); start = c.I {
		if c.Num != metaField {
			continue
		}
		n := len(pieces)
		meta := c.Bytes()
		more, kept, ok := keptMeta(append(pieces, piece{from, start, -1}), meta, c.From)
		if !ok || c.Err != nil {
			return nil
		}
		if kept == len(meta) {
			continue
		}
		pieces, from = more, c.I
		pieces[n+1].meta = kept
		size += start - pieces[n].from + 1 + protowire.SizeBytes(kept)
	}
	if c.Err != nil || len(pieces) == 0 {
		return nil
	}
	out := room(dst, size+len(msg)-from)
	for _, p := range pieces {
		if p.meta >= 0 {
			out = protowire.AppendTag(out, metaField, protowire.BytesType)
			out = protowire.AppendVarint(out, uint64(p.meta))
		}
		out = append(out, msg[p.from:p.to]...)
	}
	return append(out, msg[from:]...)
}

// keptMeta appends the pieces of an ObjectMeta that are no managed fields, one at least, and returns
// how many bytes they are. The ObjectMeta begins at base of the message.
func keptMeta(pieces []piece, meta []byte, base int) (all []piece, size int, ok bool) {
	c, from := protoscan.Cursor{B: meta}, 0
	first := len(pieces)
	for start := 0; c.Next(); start = c.I {
		if c.Num == metaManagedFields {
			if start > from || len(pieces) == first {
				pieces = append(pieces, piece{base + from, base + start, -1})
				size += start - from
			}
			from = c.I
		}
	}
	if from < len(meta) || len(pieces) == first {
		pieces = append(pieces, piece{base + from, base + len(meta), -1})
		size += len(meta) - from
	}
	return pieces, size, c.Err == nil
}

// cutJSON returns nil if there is nothing to cut. The spans are those of the remaining text.
func cutJSON(dst []byte, raw Raw) ([]byte, jsonscan.Spans) {
	raw, err := raw.check()
	if err != nil {
		return nil, jsonscan.Spans{}
	}
	b := raw.Bytes
	var some [4][2]int
	cuts := some[:0] // in order
	d := raw.reader()
	d.Space()
	err = d.Object(func(name []byte) (err error) {
		if string(name) != "metadata" || d.Peek() != '{' {
			return d.Skip()
		}
		cuts, err = managedSpans(&d, cuts)
		return err
	})
	if err != nil || len(cuts) == 0 {
		return nil, raw.long
	}
	size := len(b)
	for _, s := range cuts {
		size -= s[1] - s[0]
	}
	out, from := room(dst, size), 0
	for _, s := range cuts {
		out = append(out, b[from:s[0]]...)
		from = s[1]
	}
	return append(out, b[from:]...), raw.long.Without(cuts)
}

// managedSpans reads the metadata, and appends the spans to cut: each managedFields member with its comma.
func managedSpans(d *jsonscan.Reader, cuts [][2]int) ([][2]int, error) {
	const none = -1
	lead := none   // start of a cut at the front, which includes the comma after it
	kept := false  // a member before this one is kept
	end := d.I + 1 // of the brace, or of the member before
	more, err := d.Begin('{')
	for more && err == nil {
		start := d.I
		var name []byte
		if name, err = d.Name(); err != nil {
			break
		}
		cut := string(name) == "managedFields"
		if lead != none && !cut {
			cuts, lead = append(cuts, [2]int{lead, start}), none
		}
		if err = d.Skip(); err != nil {
			break
		}
		switch {
		case !cut:
			kept = true
		case kept:
			cuts = append(cuts, [2]int{end, d.I})
		case lead == none:
			lead = end
		}
		end = d.I
		more, err = d.Next('}')
	}
	if lead != none {
		cuts = append(cuts, [2]int{lead, end})
	}
	return cuts, err
}
