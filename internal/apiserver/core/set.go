package core

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"unique"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// set is a map of strings, encoded as one interned string. Objects with equal labels or fields share it.
type set unique.Handle[string]

// newSet returns a map as a set, without the keys in but.
func newSet(m map[string]string, but ...string) set {
	keys := make([]string, 0, 16) // most are not longer, and cost no memory
	for k := range m {
		if !slices.Contains(but, k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	b := make([]byte, 0, 256)
	for _, k := range keys {
		b = appendText(appendText(b, k), m[k])
	}
	return set(unique.Make(string(b)))
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// pairs are the keys and values of a set, in order.
func (s set) pairs() iter.Seq2[string, string] {
	return func(yield func(k, v string) bool) {
		var zero set
		if s == zero {
			return
		}
		for rest := unique.Handle[string](s).Value(); rest != ""; {
			var k, v string
			k, rest = cutText(rest)
			v, rest = cutText(rest)
			if !yield(k, v) {
				return
			}
		}
	}
}

// all returns the set as a map, which the caller owns. That of an empty set is nil.
func (s set) all() (m map[string]string) {
	for k, v := range s.pairs() {
		if m == nil {
			m = map[string]string{}
		}
		m[k] = v
	}
	return m
}

// Lookup returns the value of a key.
func (s set) Lookup(key string) (value string, ok bool) {
	for k, v := range s.pairs() {
		if k == key {
			return v, true
		}
	}
	return "", false
}

func cutText(text string) (first, rest string) {
	size, at := uint64(0), 0
	for shift := 0; ; shift += 7 {
		c := text[at]
		at++
		size |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	end := at + int(size)
	return text[at:end], text[end:]
}

// Has and Get make set a [labels.Labels].
func (s set) Has(key string) bool {
	_, ok := s.Lookup(key)
	return ok
}

func (s set) Get(key string) string {
	value, _ := s.Lookup(key)
	return value
}

// fieldName is a field that every object has. Its value is the last part of the object's key, and is not in the set.
const fieldName = "metadata.name"

func nameOfKey(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// newFields returns the fields of an object as a set.
func newFields(key string, m map[string]string) set {
	if m[fieldName] == nameOfKey(key) {
		return newSet(m, fieldName)
	}
	return newSet(m)
}

// selected has the fields of an object that field selectors can ask for, metadata.name included.
type selected struct{ o *Object }

// Has and Get make selected a [fields.Fields].
func (s selected) Has(field string) bool { return s.o.fields.Has(field) || field == fieldName }

func (s selected) Get(field string) string {
	if value, ok := s.o.fields.Lookup(field); ok || field != fieldName {
		return value
	}
	return nameOfKey(s.o.Key)
}

// all returns the fields as a map, which the caller owns.
func (s selected) all() map[string]string {
	m := s.o.fields.all()
	if m == nil {
		m = map[string]string{}
	}
	if _, ok := m[fieldName]; !ok {
		m[fieldName] = nameOfKey(s.o.Key)
	}
	return m
}

// newObject returns the object of a write, which keeps the bytes of the write.
func newObject(w rules.Write) *Object {
	return &Object{Key: w.Key, Version: w.Version, JSON: w.Object, shown: w.Shown, labels: newSet(w.Labels), fields: newFields(w.Key, w.Fields)}
}
