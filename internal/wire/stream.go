package wire

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// Limits bound the memory for one body. The zero value is the default.
type Limits struct {
	// Frame is the most bytes that one object or watch frame may have; 32 MiB if zero or negative.
	// An API server stores objects of up to about 1.5 MB.
	Frame int64
}

const defaultFrame = 32 << 20

func (l Limits) frame() int64 {
	if l.Frame <= 0 {
		return defaultFrame
	}
	return l.Frame
}

// protoStream parses protobuf fields, and holds one field at a time. A method that returns ErrIncomplete is called
// once more after the fill, and resumes.
type protoStream struct {
	window
	limit   int64
	skipped int64  // bytes that are still to be skipped
	large   []byte // the read part of a large value, in its own memory
	head    protoHead
	inField bool // the content of head is next
}

// protoHead is the head of a field. size counts the bytes of content that follow: 0 for numbers. end is the offset
// behind the field in the body, however much of the content has been taken.
type protoHead struct {
	num, typ  int
	size, end int64
}

func newProtoStream(lim Limits) protoStream {
	return protoStream{window: newWindow(lim), limit: lim.frame()}
}

// offset is the number of bytes of the body that were taken or skipped.
func (s *protoStream) offset() int64 { return s.window.offset() + s.skipped }

// bytes takes n bytes, which are valid until the next fill. The body must have them.
func (s *protoStream) bytes(n int64) ([]byte, error) {
	switch {
	case n > min(usualBuffer, s.limit):
		return s.own(n)
	case n > int64(s.held()):
		return nil, s.cut(s.more(int(n)))
	}
	return s.take(int(n)), nil
}

// own copies the next bytes into new memory of that size.
func (s *protoStream) own(n int64) ([]byte, error) {
	if n > s.limit {
		return nil, &TooLargeError{Size: n, Limit: s.limit}
	}
	if s.large == nil {
		s.large = make([]byte, 0, n)
	}
	s.large = append(s.large, s.take(min(s.held(), int(n)-len(s.large)))...)
	if int64(len(s.large)) < n {
		return nil, s.cut(s.more(0))
	}
	b := s.large
	s.large = nil
	return b, nil
}

// skip skips n bytes.
func (s *protoStream) skip(n int64) error {
	s.skipped += n
	return s.skipRest()
}

func (s *protoStream) skipRest() error {
	if s.skipped == 0 {
		return nil
	}
	s.skipped -= int64(len(s.take(int(min(s.skipped, int64(s.held()))))))
	if s.skipped > 0 {
		return s.cut(s.more(0))
	}
	return nil
}

// field reads the head of the next field. For a string or message it returns the same head until
// content, enter or leave is called. Any other field has been skipped. io.EOF means that the body
// ended before the field.
func (s *protoStream) field() (h protoHead, err error) {
	if s.inField {
		return s.head, nil
	}
	if err := s.skipRest(); err != nil {
		return h, err
	}
	c := protoscan.Cursor{B: s.buf[s.at:]}
	switch whole := c.Next(); {
	case whole && c.Type != protoscan.Bytes:
		s.at += c.I
	case !whole && c.Err == nil:
		return h, s.more(0)
	case !whole && c.Err != protoscan.ErrCut:
		s.at += c.I
		return h, s.syntax(c.Err)
	case c.From == 0: // the head is not complete
		return h, s.cut(s.more(0))
	case c.Number > 1<<62:
		return h, s.syntax(protoscan.ErrOverflow)
	default:
		s.at += c.From
		h.size, s.inField = int64(c.Number), true
	}
	h.num, h.typ = c.Num, c.Type
	h.end = s.offset() + h.size
	s.head = h
	return h, nil
}

// content takes the content of the field, which is valid until the next fill.
func (s *protoStream) content() ([]byte, error) {
	b, err := s.bytes(s.head.size)
	s.inField = err == ErrIncomplete
	return b, err
}

// enter makes the content of the field the next fields.
func (s *protoStream) enter() { s.inField = false }

// leave skips the content of the field.
func (s *protoStream) leave() error {
	s.inField = false
	return s.skip(s.head.size)
}

func (s *protoStream) syntax(err error) error {
	return &SyntaxError{Encoding: Protobuf, Offset: s.offset(), Err: err}
}

// statusError reads a Status that is the answer, and returns it as an error.
func statusError(b []byte, enc Encoding) error {
	e := new(StatusError)
	var err error
	if enc == Protobuf {
		err = e.Status.Unmarshal(b)
	} else {
		err = json.Unmarshal(b, &e.Status)
	}
	if err != nil {
		return &SyntaxError{Encoding: enc, Err: fmt.Errorf("in a Status: %w", err)}
	}
	e.Status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return e
}
