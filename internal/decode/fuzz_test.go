package decode

import (
	gojson "encoding/json"
	"reflect"
	"testing"
)

// FuzzKinds fills any kind from a seed and changes some bytes of the document.
func FuzzKinds(f *testing.F) {
	all := types(f)
	for i := range 20 {
		f.Add(int64(i), uint16(i*31), uint16(0), "")
		f.Add(int64(i), uint16(i*31), uint16(i*100), "null")
		f.Add(int64(i), uint16(i*31), uint16(i*100), "\x00\x01")
	}
	f.Fuzz(func(t *testing.T, seed int64, kind, at uint16, change string) {
		typ := all[int(kind)%len(all)]
		obj := reflect.New(typ).Interface()
		filler(seed).Fill(obj)
		changed := func(doc []byte) []byte {
			if len(doc) > 0 {
				copy(doc[int(at)%len(doc):], change)
			}
			return doc
		}
		doc, err := gojson.Marshal(obj)
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		same(t, typ, changed(doc))
		if m, ok := obj.(marshaler); ok {
			if doc, err = m.Marshal(); err != nil {
				t.Fatalf("%v: %v", typ, err)
			}
			sameProto(t, typ, changed(doc))
		}
	})
}
