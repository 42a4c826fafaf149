package wire

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads JSON as apimachinery does: the last of several equal names wins, and invalid UTF-8
// does not break the stream. Where it matters, the one object that carries it is refused.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

var errNotObject = errors.New("not a JSON object")

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
