package wire

import (
	"bytes"
	"reflect"

	"github.com/flyball-io/flyball/internal/sparse"
)

// Same reports whether two states of an object of one kind say the same. The order of members, space
// and escapes do not count in JSON, nor do apiVersion and kind, which lists of built-in kinds leave out.
// Different encodings are not compared: they are not the same.
//
// It is cheap for equal bytes, also behind apiVersion and kind; otherwise JSON is decoded.
func Same(a, b Raw) bool {
	if a.Encoding != b.Encoding {
		return false
	}
	if bytes.Equal(a.Bytes, b.Bytes) {
		return true
	}
	if a.Encoding != JSON {
		return false // API servers write the maps of protobuf in order
	}
	_, _, i := a.leading()
	_, _, j := b.leading()
	if i > 0 && j > 0 && bytes.Equal(a.Bytes[i:], b.Bytes[j:]) {
		return true
	}
	x, y := a.members(), b.members()
	return x != nil && reflect.DeepEqual(x, y)
}

// members are those of a JSON object but apiVersion and kind, as values; nil if it is none.
func (r Raw) members() map[string]any {
	m, err := sparse.Parse(r.Bytes)
	if err != nil {
		return nil
	}
	delete(m, "apiVersion")
	delete(m, "kind")
	return m
}
