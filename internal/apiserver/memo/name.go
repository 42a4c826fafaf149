package memo

import (
	"bytes"
	"strings"

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
	s := scanner{text: body}
	text := func(to func(span)) bool {
		s.space()
		begin := s.at + 1
		ok := s.string()
		if ok {
			to(span{begin, s.at - 1})
		}
		return ok
	}
	field := func(inMetadata bool) func(string) bool {
		return func(key string) bool {
			if inMetadata != of.inMetadata || key != of.field || s.next() != '{' {
				return s.value()
			}
			once := out.texts == nil
			return s.object(func(string) bool {
				if s.next() != '"' {
					return s.value()
				}
				return text(func(at span) { out.texts = append(out.texts, at) })
			}) && once
		}
	}
	s.object(func(key string) bool {
		if key != "metadata" {
			return field(false)(key)
		}
		return s.object(func(key string) bool {
			if key != "name" {
				out.managed = out.managed || key == "managedFields"
				return field(true)(key)
			}
			once := out.name == span{}
			return text(func(at span) { out.name = at }) && once
		})
	})
	return out, !s.failed
}

// scanner reads JSON to find the place of a string.
type scanner struct {
	text   []byte
	at     int
	failed bool
	seen   int // how many objects have had a key metadata
	depth  int
}

// maxDepth bounds how deep values are nested.
const maxDepth = 100

func (s *scanner) fail() bool {
	s.failed = true
	return false
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

// next skips space and returns the next character; 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// is reads the character c, if that is next.
func (s *scanner) is(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// object reads an object, whose values field reads.
func (s *scanner) object(field func(key string) bool) bool {
	if s.depth++; s.depth > maxDepth || !s.is('{') {
		return s.fail()
	}
	defer func() { s.depth-- }()
	if s.is('}') {
		return true
	}
	for {
		s.space()
		begin := s.at + 1
		if !s.string() {
			return s.fail()
		}
		key := string(s.text[begin : s.at-1])
		if s.depth <= 2 && strings.Contains(key, `\`) {
			return s.fail() // a key in another spelling
		}
		if key == "metadata" && s.depth == 1 {
			if s.seen++; s.seen > 1 {
				return s.fail()
			}
		}
		if !s.is(':') || !field(key) {
			return s.fail()
		}
		if s.is('}') {
			return true
		}
		if !s.is(',') {
			return s.fail()
		}
	}
}

// string reads a string without escapes that matter here.
func (s *scanner) string() bool {
	if !s.is('"') {
		return false
	}
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			s.at++
			return true
		case '\\':
			s.at++
		}
		s.at++
	}
	return false
}

// value reads any value.
func (s *scanner) value() bool {
	s.space()
	if s.at >= len(s.text) {
		return s.fail()
	}
	switch s.text[s.at] {
	case '{':
		return s.object(func(string) bool { return s.value() })
	case '[':
		return s.list()
	case '"':
		return s.string() || s.fail()
	}
	begin := s.at
	for s.at < len(s.text) && bytes.IndexByte([]byte(",]} \n\t\r"), s.text[s.at]) < 0 {
		s.at++
	}
	return s.at > begin || s.fail()
}

func (s *scanner) list() bool {
	if s.depth++; s.depth > maxDepth {
		return s.fail()
	}
	defer func() { s.depth-- }()
	s.at++
	if s.is(']') {
		return true
	}
	for {
		if !s.value() {
			return false
		}
		if s.is(']') {
			return true
		}
		if !s.is(',') {
			return s.fail()
		}
	}
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
