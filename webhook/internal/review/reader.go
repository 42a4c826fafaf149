package review

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// Reader walks over one JSON value in memory. It shows each of several members with the same name.
// Where it wants an object, array, string or boolean it takes null for an empty one.
type Reader struct{ jsonscan.Reader }

var errUTF8 = errors.New("invalid UTF-8")

// Read calls walk with a reader of b. walk must read one value. An error of b, such as invalid UTF-8
// or more data behind the value, comes before one of walk.
func Read(b []byte, walk func(*Reader) error) error {
	long, _, err := jsonscan.Check(b)
	if err == nil && !utf8.Valid(b) {
		err = errUTF8
	}
	r := Reader{jsonscan.Reader{B: b, Long: long}}
	r.Space()
	if bad := walk(&r); err == nil {
		err = bad
	}
	return err
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

// Raw reads a value and returns it as a slice of the input. It returns nil for null.
func (r *Reader) Raw() ([]byte, error) {
	if r.Null() {
		return nil, nil
	}
	return r.Value()
}

// Fields calls field with the index of each member of the object that is among names. field must
// read the value. It skips other members. A name that occurs twice is an error. Errors have the name.
func (r *Reader) Fields(names []string, field func(i int) error) error {
	var seen uint32
	return r.Object(func(name []byte) error {
		i := slices.IndexFunc(names, func(n string) bool { return n == string(name) })
		if i < 0 {
			return r.Skip()
		}
		if seen&(1<<i) != 0 {
			return fmt.Errorf("%s: %q is there twice", name, name)
		}
		seen |= 1 << i
		if err := field(i); err != nil {
			return fmt.Errorf("%s: %w", names[i], err)
		}
		return nil
	})
}
