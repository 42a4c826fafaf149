package memo

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// nameIn returns the place of the object's name in the body of a question. It is empty if there is no name, or if the
// place is not certain.
func nameIn(req *rules.Request) span {
	mediaType, _, _ := strings.Cut(req.ContentType, ";")
	switch mediaType {
	case "", "application/json":
		s := scanner{text: req.Body}
		s.object(func(key string) bool {
			if key != "metadata" {
				return s.value()
			}
			return s.object(func(key string) bool {
				if key != "name" {
					return s.value()
				}
				s.space()
				begin := s.at + 1
				ok := s.string() && s.found == span{}
				s.found = span{begin, s.at - 1}
				return ok
			})
		})
		if s.failed {
			return span{}
		}
		return s.found
	case "application/vnd.kubernetes.protobuf":
		return nameInProtobuf(req.Body)
	}
	return span{}
}

// scanner reads JSON to find the place of a string.
type scanner struct {
	text   []byte
	at     int
	found  span
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

// is skips space and reads the character c, if that is next.
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

// nameInProtobuf returns the place of the object's name in protobuf. Field 2 of the envelope is the object, its field 1
// the metadata, and field 1 of that the name.
func nameInProtobuf(body []byte) span {
	const magic = "k8s\x00"
	if !bytes.HasPrefix(body, []byte(magic)) {
		return span{}
	}
	at := span{len(magic), len(body)}
	for _, number := range []uint64{2, 1, 1} {
		var ok bool
		if at, ok = message(body, at, number); !ok {
			return span{}
		}
	}
	return at
}

// message returns the place of the field with a number, which must occur once and have a length.
func message(body []byte, in span, number uint64) (found span, ok bool) {
	for at := in.begin; at < in.end; {
		tag, n := binary.Uvarint(body[at:in.end])
		if n <= 0 {
			return span{}, false
		}
		at += n
		size, n := binary.Uvarint(body[at:in.end])
		if n <= 0 {
			return span{}, false
		}
		at += n
		if tag&7 == 0 {
			continue // what was read is its number
		}
		if tag&7 != 2 || size > uint64(in.end-at) {
			return span{}, false
		}
		if tag>>3 == number {
			if ok {
				return span{}, false
			}
			found, ok = span{at, at + int(size)}, true
		}
		at += int(size)
	}
	return found, ok
}
