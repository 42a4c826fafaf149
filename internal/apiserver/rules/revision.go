// Code generated from controlplane/rules/revision.go by TestProtocolIsThatOfTheProgram. DO NOT EDIT.

package rules

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
)

// abilities names the flags of the program. It is part of the protocol's name: change both together.
const abilities = "listen frame"

// Protocol names the protocol of this source: a hash of the messages, with the names and kinds of their fields, and
// of the abilities.
func Protocol() string {
	h := sha256.New()
	fmt.Fprintln(h, abilities)
	known := map[reflect.Type]bool{}
	for _, message := range []any{Request{}, Answer{}} {
		describe(h, reflect.TypeOf(message), known)
	}
	return fmt.Sprintf("flyball-rules %x", h.Sum(nil)[:8])
}

// describe writes the fields of a struct, and of the structs that its fields lead to.
func describe(w io.Writer, t reflect.Type, known map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || known[t] {
		return
	}
	known[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		fmt.Fprintln(w, t.Name(), f.Name, f.Type.Kind())
		describe(w, f.Type, known)
	}
}
