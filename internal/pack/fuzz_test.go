package pack

import (
	"bytes"
	"testing"
)

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte(sibling), []byte{}, []byte(sibling))
	f.Add([]byte(sibling), []byte("app93e1aa00-17ff-4b5f-a178-9a11de401235"), []byte(sibling[80:]+"93e1aa00-17ff-4b5f-a178-9a11de401235"+sibling[:90]))
	f.Add([]byte{}, []byte("0123456789abcdef"), bytes.Repeat([]byte("0123456789abcdef"), 9))
	f.Add([]byte("0b54f3a2-1c2d-4e5f-a678-9abcdef01234"), []byte{}, []byte("0b54f3a3-1c2d-4e5f-a678-9abcdef01234"))
	var p Packer
	f.Fuzz(func(t *testing.T, template, known, obj []byte) {
		tmpl := NewTemplate(template)
		check(t, &p, tmpl, known, obj)
		check(t, &p, tmpl, known, append(bytes.Clone(obj), template...))
		d := NewDictionary(template, len(template)+100)
		check(t, &p, d, known, obj)
		check(t, &p, d, known, append(bytes.Clone(obj), known...))
		check(t, &p, nil, known, obj)
		check(t, &p, nil, known, append(bytes.Clone(known), obj...))
	})
}

func FuzzUnpack(f *testing.F) {
	var p Packer
	f.Add([]byte(sibling), []byte{}, p.Append(nil, NewTemplate([]byte(sibling)), nil, []byte(sibling[:200]+"93e1aa00-17ff-4b5f-a178-9a11de401235"+sibling[180:])))
	f.Add([]byte(sibling), []byte{}, p.Append(nil, nil, nil, []byte(sibling+sibling)))
	f.Add([]byte{}, []byte{}, []byte{0xfe, 0xff, 0xff, 0x3f, opSelf | 31, 0xff, 0xff, 0xff, 0x1f, 1})
	f.Add([]byte{}, []byte{1, 2}, []byte{4, opSelf, 0, opDigits | 14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, template, known, record []byte) {
		got, err := Unpack(nil, template, known, record)
		if err != nil {
			if got != nil {
				t.Fatalf("%d bytes and %v", len(got), err)
			}
			return
		}
		if n, err := Size(record); err != nil || n != len(got) {
			t.Fatalf("Size = %d, %v, unpacked %d", n, err, len(got))
		}
		// An unpacked object packs and unpacks to the same bytes.
		check(t, &p, NewTemplate(template), known, got)
	})
}
