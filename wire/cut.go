package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// CutManagedFields returns the object without metadata.managedFields, in new bytes; the bytes of r
// stay as they are. If there is nothing to cut, or the object cannot be read, it returns r itself.
func CutManagedFields(r Raw) Raw {
	var cut []byte
	switch r.Encoding {
	case Protobuf:
		cut = cutProtobuf(r.Bytes)
	case JSON:
		cut = cutJSON(r.Bytes)
	}
	if cut == nil {
		return r
	}
	return Raw{Kind: r.Kind, Encoding: r.Encoding, Bytes: cut}
}

// cutProtobuf returns nil if there is nothing to cut.
func cutProtobuf(msg []byte) []byte {
	size, found := 0, false // of the message after the cut
	c := cursor{b: msg}
	for start := 0; c.next(); start = c.i {
		keep := c.i - start
		if c.num == metaField {
			meta, ok := keptMeta(c.bytes())
			if !ok || c.err != nil {
				return nil
			}
			if meta != c.to-c.from {
				found = true
				keep = 1 + protowire.SizeBytes(meta)
			}
		}
		size += keep
	}
	if c.err != nil || !found {
		return nil
	}
	out := make([]byte, 0, size)
	c = cursor{b: msg}
	for start := 0; c.next(); start = c.i {
		if c.num != metaField {
			out = append(out, msg[start:c.i]...)
			continue
		}
		meta := c.bytes()
		kept, _ := keptMeta(meta)
		if kept == len(meta) {
			out = append(out, msg[start:c.i]...)
			continue
		}
		out = protowire.AppendTag(out, metaField, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(kept))
		m := cursor{b: meta}
		for from := 0; m.next(); from = m.i {
			if m.num != metaManagedFields {
				out = append(out, meta[from:m.i]...)
			}
		}
	}
	return out
}

// keptMeta is the size of an ObjectMeta without its managed fields.
func keptMeta(meta []byte) (size int, ok bool) {
	c := cursor{b: meta}
	for start := 0; c.next(); start = c.i {
		if c.num != metaManagedFields {
			size += c.i - start
		}
	}
	return size, c.err == nil
}

// cutJSON returns nil if there is nothing to cut.
func cutJSON(b []byte) []byte {
	var spans [][2]int // to cut, in order
	err := readJSON(b, func(r *jsonReader) error {
		if r.d.PeekKind() != '{' {
			return errNotObject
		}
		err := r.object(func(name []byte) (err error) {
			if string(name) != "metadata" || r.d.PeekKind() != '{' {
				return r.skip()
			}
			spans, err = managedSpans(r, spans)
			return err
		})
		if err != nil {
			return err
		}
		return r.end()
	})
	if err != nil || len(spans) == 0 {
		return nil
	}
	size := len(b)
	for _, s := range spans {
		size -= s[1] - s[0]
	}
	out, from := make([]byte, 0, size), 0
	for _, s := range spans {
		out = append(out, b[from:s[0]]...)
		from = s[1]
	}
	return append(out, b[from:]...)
}

// managedSpans reads the metadata that comes next, and appends what must go from it: each
// managedFields member with the comma that it would leave behind.
func managedSpans(r *jsonReader, spans [][2]int) ([][2]int, error) {
	if _, err := r.d.ReadToken(); err != nil {
		return spans, err
	}
	const none = -1
	lead := none      // start of what goes at the front; the comma after it goes along
	kept := false     // a member before this one stays
	end := r.offset() // of the brace, or of the member before
	for r.d.PeekKind() != '}' {
		name, err := r.d.ReadValue()
		if err != nil {
			return spans, err
		}
		start, cut := r.offset()-len(name), string(unquote(name)) == "managedFields"
		if lead != none && !cut {
			spans, lead = append(spans, [2]int{lead, start}), none
		}
		if err := r.skip(); err != nil {
			return spans, err
		}
		switch {
		case !cut:
			kept = true
		case kept:
			spans = append(spans, [2]int{end, r.offset()})
		case lead == none:
			lead = end
		}
		end = r.offset()
	}
	if lead != none {
		spans = append(spans, [2]int{lead, end})
	}
	_, err := r.d.ReadToken()
	return spans, err
}
