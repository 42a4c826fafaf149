package core

import (
	"errors"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// errFound ends the reading of an object.
var errFound = errors.New("found")

// member returns the value of a key of an object; nil if it has no such key. The object is JSON as the rules write it:
// valid, its keys without escapes.
func member(object []byte, key string) (value []byte) {
	r := jsonscan.Reader{B: object}
	_ = r.Object(func(name []byte) error {
		begin := r.I
		if err := r.Skip(); err != nil || string(name) != key {
			return err
		}
		value = object[begin:r.I]
		return errFound
	})
	return value
}

// unquoted returns the text of a string in JSON; nil if the value is none.
func unquoted(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return nil
	}
	return jsonscan.Unquote(value)
}
