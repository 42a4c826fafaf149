package wire

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/flyball-io/flyball/internal/jsonscan"
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
	if x := a.untyped(); x != nil && bytes.Equal(x, b.untyped()) {
		return true
	}
	x, y := a.members(), b.members()
	return x != nil && reflect.DeepEqual(x, y)
}

// untyped returns the text of a JSON object without its leading brace, apiVersion and kind; nil if it cannot be
// read.
func (r Raw) untyped() []byte {
	d := jsonscan.Reader{B: r.Bytes}
	more, err := d.Begin('{')
	for err == nil && more {
		start := d.I
		var name []byte
		if name, err = d.Name(); err != nil {
			break
		}
		if s := string(name); s != "apiVersion" && s != "kind" {
			return r.Bytes[start:]
		}
		if err = d.Skip(); err == nil {
			more, err = d.Next('}')
		}
	}
	return nil
}

// members are those of a JSON object but apiVersion and kind, as values; nil if it is none.
func (r Raw) members() map[string]any {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(r.Bytes))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return nil
	}
	delete(m, "apiVersion")
	delete(m, "kind")
	return m
}
