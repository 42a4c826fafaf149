package wire

import (
	"encoding/json"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits bound what a body may make us hold. The zero value is the default.
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

// protoStream reads protobuf fields off a body, without holding more than one of them.
type protoStream struct {
	window
	limit int64
}

func newProtoStream(body io.Reader, lim Limits) protoStream {
	return protoStream{window: newWindow(body, lim), limit: lim.frame()}
}

// lend reads n bytes, which are good until the next call. The body must have them.
func (s *protoStream) lend(n int64) ([]byte, error) {
	if n > min(usualBuffer, s.limit) {
		return s.full(n)
	}
	if err := s.need(int(n)); err != nil {
		return nil, s.cut(err)
	}
	return s.take(int(n)), nil
}

// full is lend into new memory of that size.
func (s *protoStream) full(n int64) ([]byte, error) {
	if n > s.limit {
		return nil, &TooLargeError{Size: n, Limit: s.limit}
	}
	b := make([]byte, n)
	for to := b; len(to) > 0; {
		if s.held() == 0 {
			if err := s.fill(0); err != nil {
				return nil, s.cut(err)
			}
		}
		to = to[copy(to, s.take(min(s.held(), len(to)))):]
	}
	return b, nil
}

// discard skips n bytes.
func (s *protoStream) discard(n int64) error {
	for n > int64(s.held()) {
		n -= int64(len(s.take(s.held())))
		if err := s.fill(0); err != nil {
			return s.cut(err)
		}
	}
	s.take(int(n))
	return nil
}

// varint reads a number. io.EOF means that the body ended before it.
func (s *protoStream) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		if s.held() == 0 {
			if err := s.fill(0); err != nil {
				if shift > 0 {
					err = s.cut(err)
				}
				return 0, err
			}
		}
		c := s.buf[s.at]
		s.at++
		if shift == 63 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, s.syntax(errOverflow)
}

// field reads the head of a field: its number, its wire type and, for a string or message, the
// length that follows. Any other field has been skipped. io.EOF means that the body ended before.
func (s *protoStream) field() (num, typ int, size int64, err error) {
	tag, err := s.varint()
	if err != nil {
		return 0, 0, 0, err
	}
	if tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return 0, 0, 0, s.syntax(errBadTag)
	}
	num, typ = int(tag>>3), int(tag&7)
	switch typ {
	case typeBytes, typeVarint:
		v, err := s.varint()
		if err != nil {
			return 0, 0, 0, s.cut(err)
		}
		if typ == typeBytes && v > 1<<62 {
			return 0, 0, 0, s.syntax(errOverflow)
		}
		return num, typ, int64(v), nil
	case typeFixed32:
		err = s.discard(4)
	case typeFixed64:
		err = s.discard(8)
	default:
		err = s.syntax(errBadTag)
	}
	return num, typ, 0, err
}

// cut turns an end of the body into a *TruncatedError.
func (s *protoStream) cut(err error) error {
	if err == io.EOF {
		return s.truncated()
	}
	return err
}

func (s *protoStream) syntax(err error) error {
	return &SyntaxError{Encoding: Protobuf, Offset: s.offset(), Err: err}
}

// statusError reads the Status that came instead of what was asked for.
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
