package review

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader walks over one JSON value in memory. It rejects invalid UTF-8. It shows each of several
// members with the same name.
type Reader struct {
	d   jsontext.Decoder
	src bytes.Buffer
	b   []byte
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// errMore says that data follows the value.
var errMore = errors.New("data follows the end of the object")

// Read calls walk with a reader of b. walk must read one value; more data after it is an error. The
// reader must not be kept.
func Read(b []byte, walk func(*Reader) error) error {
	r := readers.Get().(*Reader)
	r.b, r.src = b, *bytes.NewBuffer(b)
	r.d.Reset(&r.src, jsontext.AllowDuplicateNames(true))
	err := walk(r)
	if err == nil && len(bytes.TrimLeft(b[r.d.InputOffset():], " \t\r\n")) > 0 {
		err = errMore
	}
	r.b, r.src = nil, bytes.Buffer{}
	r.d.Reset(&r.src)
	readers.Put(r)
	return err
}

// Object calls member for each member of the object at the current position. The name is valid
// until member reads. member must read the whole value. A null counts as an object without members.
func (r *Reader) Object(member func(name []byte) error) error {
	switch t, err := r.d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '{':
		return wrongKind("an object", t.Kind())
	}
	for r.d.PeekKind() != '}' {
		name, err := r.d.ReadValue()
		if err != nil {
			return err
		}
		if err := member(Unquote(name)); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	return err
}

// Array calls element before each element of the array at the current position. element must read
// it. A null counts as an array without elements.
func (r *Reader) Array(element func() error) error {
	switch t, err := r.d.ReadToken(); {
	case err != nil:
		return err
	case t.Kind() == 'n':
		return nil
	case t.Kind() != '[':
		return wrongKind("an array", t.Kind())
	}
	for r.d.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err := r.d.ReadToken()
	return err
}

// Text reads a string. The result points into the input if the string has no escapes. A null is
// empty.
func (r *Reader) Text() ([]byte, error) {
	v, err := r.d.ReadValue()
	switch {
	case err != nil:
		return nil, err
	case v.Kind() == 'n':
		return nil, nil
	case v.Kind() != '"':
		return nil, wrongKind("a string", v.Kind())
	}
	return Unquote(v), nil
}

// String reads a string into new memory. If the string equals one of known, it returns that one
// without allocating.
func (r *Reader) String(known ...string) (string, error) {
	b, err := r.Text()
	for _, k := range known {
		if string(b) == k {
			return k, err
		}
	}
	return string(b), err
}

// Bool reads true or false. A null is false.
func (r *Reader) Bool() (bool, error) {
	t, err := r.d.ReadToken()
	if err != nil {
		return false, err
	}
	switch t.Kind() {
	case 't':
		return true, nil
	case 'f', 'n':
		return false, nil
	}
	return false, wrongKind("true or false", t.Kind())
}

// Raw reads a value and returns it as a slice of the input. It returns nil for null.
func (r *Reader) Raw() ([]byte, error) {
	v, err := r.d.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return nil, err
	}
	end := int(r.d.InputOffset())
	return r.b[end-len(v) : end : end], nil
}

// Skip skips a value.
func (r *Reader) Skip() error { return r.d.SkipValue() }

// Unquote returns the text of a valid JSON string. The result points into v if the string has no
// escapes.
func Unquote(v []byte) []byte {
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	text, _ := jsontext.AppendUnquote(nil, v) // cannot fail: v was parsed before
	return text
}

func wrongKind(want string, got jsontext.Kind) error {
	name := "no value"
	switch got {
	case 'n':
		name = "null"
	case 't', 'f':
		name = "a boolean"
	case '"':
		name = "a string"
	case '0':
		name = "a number"
	case '{':
		name = "an object"
	case '[':
		name = "an array"
	}
	return fmt.Errorf("want %s, got %s", want, name)
}

// Twice detects duplicate names in one object. The zero value has seen no name.
type Twice uint32

// See records the field with this number, 0 to 31. It fails if the field was seen before.
func (t *Twice) See(field int, name []byte) error {
	if *t&(1<<field) != 0 {
		return fmt.Errorf("%q is there twice", name)
	}
	*t |= 1 << field
	return nil
}

// In prefixes an error with the name of a member.
func In(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
