package wire

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads JSON as apimachinery does: the last of several equal names wins, and invalid UTF-8
// does not break the stream. Where it matters, the one object that carries it is refused.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

var errNotObject = errors.New("not a JSON object")

// jsonReader walks over one JSON value held in memory.
type jsonReader struct {
	d   jsontext.Decoder
	src bytes.Buffer
	b   []byte
}

var jsonReaders = sync.Pool{New: func() any { return new(jsonReader) }}

// readJSON calls walk with a reader of b. Nothing of the reader may be kept.
func readJSON(b []byte, walk func(*jsonReader) error) error {
	r := jsonReaders.Get().(*jsonReader)
	r.b, r.src = b, *bytes.NewBuffer(b)
	r.d.Reset(&r.src, lenient...)
	err := walk(r)
	r.b, r.src = nil, bytes.Buffer{}
	r.d.Reset(&r.src)
	jsonReaders.Put(r)
	return err
}

// offset is the place after what was read last.
func (r *jsonReader) offset() int { return int(r.d.InputOffset()) }

// object calls member for each member of the object that comes next. The name is good until
// member reads; member must read the value, all of it. A null is an object without members.
func (r *jsonReader) object(member func(name []byte) error) error {
	switch t, err := r.d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '{':
		return fmt.Errorf("want an object, got %s", kindOf(t.Kind()))
	}
	for r.d.PeekKind() != '}' {
		name, err := r.name()
		if err != nil {
			return err
		}
		if err := member(name); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	return err
}

// name reads the name of a member.
func (r *jsonReader) name() ([]byte, error) {
	v, err := r.d.ReadValue()
	if err != nil {
		return nil, err
	}
	return unquote(v), nil
}

// array calls element before each element of the array that comes next; element must read it. A
// null is an array without elements.
func (r *jsonReader) array(element func() error) error {
	switch t, err := r.d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '[':
		return fmt.Errorf("want an array, got %s", kindOf(t.Kind()))
	}
	for r.d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	return err
}

// skip passes over the value that comes next. All of it is in memory, so that it can be checked at
// once, which is faster than token by token.
func (r *jsonReader) skip() error {
	_, err := r.d.ReadValue()
	return err
}

// str reads a string. A null is the empty string.
func (r *jsonReader) str() (string, error) {
	v, err := r.d.ReadValue()
	switch {
	case err != nil:
		return "", err
	case v.Kind() == 'n':
		return "", nil
	case v.Kind() != '"':
		return "", fmt.Errorf("want a string, got %s", kindOf(v.Kind()))
	}
	return string(unquote(v)), nil
}

// end fails unless nothing but space is left.
func (r *jsonReader) end() error {
	if len(bytes.TrimLeft(r.b[r.offset():], " \t\r\n")) > 0 {
		return errors.New("more after the value")
	}
	return nil
}

// unquote is the text of a valid JSON string. It is a part of v if nothing in it is escaped.
func unquote(v []byte) []byte {
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	text, _ := jsontext.AppendUnquote(nil, v) // fails only for invalid UTF-8, which it replaces
	return text
}

func kindOf(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "no value"
}
