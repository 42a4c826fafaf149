package memo

import (
	"bytes"
	"errors"

	"github.com/flyball-io/flyball/internal/jsonscan"
	"github.com/flyball-io/flyball/internal/protoscan"
)

// parts are what a body has for values.
type parts struct {
	name    span   // empty if there is none
	texts   []span // the strings in a field of the object, an object of strings
	managed bool   // whether it has managed fields
}

// inJSON returns the parts of a body. It reports false if a place is not certain.
func inJSON(body []byte, of texts) (out parts, ok bool) {
	if _, _, err := jsonscan.Check(body); err != nil {
		return out, false
	}
	s := scanner{jsonscan.Reader{B: body}}
	field := func(inMetadata bool, key string) error {
		if inMetadata != of.inMetadata || key != of.field || s.Peek() != '{' {
			return s.Skip()
		}
		if out.texts != nil {
			return errUncertain
		}
		return s.object(func(string) error {
			if s.Peek() != '"' {
				return s.Skip()
			}
			at, err := s.text()
			out.texts = append(out.texts, at)
			return err
		})
	}
	seen := false
	s.Space()
	err := s.object(func(key string) error {
		switch {
		case key != "metadata":
			return field(false, key)
		case seen:
			return errUncertain
		}
		seen = true
		return s.object(func(key string) (err error) {
			switch {
			case key == "name" && out.name != span{}:
				return errUncertain
			case key == "name":
				out.name, err = s.text()
				return err
			}
			out.managed = out.managed || key == "managedFields"
			return field(true, key)
		})
	})
	return out, err == nil
}

var errUncertain = errors.New("the place is not certain")

// scanner reads JSON to find the place of a string.
type scanner struct{ jsonscan.Reader }

// object reads an object, whose values field reads. A name in another spelling fails.
func (s *scanner) object(field func(key string) error) error {
	if s.Peek() != '{' {
		return errUncertain
	}
	more, err := s.Begin('{')
	for more && err == nil {
		begin := s.I
		var key []byte
		if key, err = s.Name(); err != nil {
			return err
		}
		if bytes.IndexByte(s.B[begin:s.I], '\\') >= 0 {
			return errUncertain
		}
		if err = field(string(key)); err == nil {
			more, err = s.Next('}')
		}
	}
	return err
}

// text reads a string, and returns its place without the quotes.
func (s *scanner) text() (span, error) {
	if s.Peek() != '"' {
		return span{}, errUncertain
	}
	begin := s.I + 1
	err := s.Skip()
	return span{begin, s.I - 1}, err
}

// inProtobuf is [inJSON] for protobuf. Field 2 of the envelope is the object, its field 1 the metadata, and field 1 of
// that the name. The strings are the values of a map, whose field has a number.
func inProtobuf(body []byte, of texts) (out parts, ok bool) {
	const magic, managedFields = "k8s\x00", 17
	if !bytes.HasPrefix(body, []byte(magic)) {
		return out, false
	}
	object, ok := one(body, span{len(magic), len(body)}, 2)
	if !ok {
		return out, false
	}
	metadata, ok := one(body, object, 1)
	if !ok {
		return out, false
	}
	names := 0
	if !numbered(body, metadata, 1, func(at span) { out.name, names = at, names+1 }) || names > 1 ||
		!numbered(body, metadata, managedFields, func(span) { out.managed = true }) {
		return out, false
	}
	if of.number == 0 {
		return out, true
	}
	in := object
	if of.inMetadata {
		in = metadata
	}
	ok = numbered(body, in, of.number, func(entry span) {
		if text, ok := one(body, entry, 2); ok {
			out.texts = append(out.texts, text)
		}
	})
	return out, ok
}

// one returns the place of the field with a number, which must occur once and have a length.
func one(body []byte, in span, number int) (found span, ok bool) {
	times := 0
	ok = numbered(body, in, number, func(at span) { found, times = at, times+1 })
	if !ok || times != 1 {
		return span{}, false
	}
	return found, true
}

// numbered yields the places of the fields with a number, which must have lengths. It reports false if in is no
// message.
func numbered(body []byte, in span, number int, yield func(span)) bool {
	c := protoscan.Cursor{B: body[:in.end], I: in.begin}
	for c.Next() {
		if c.Num == number {
			c.Bytes() // fails for a number
			yield(span{c.From, c.To})
		}
	}
	return c.Err == nil
}
