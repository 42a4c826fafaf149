package wire

import (
	"bufio"
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

// readBuffer is how much of a body is read ahead.
const readBuffer = 64 << 10

// protoStream reads protobuf fields off a body, without holding more than one of them.
type protoStream struct {
	r     *bufio.Reader
	n     int64 // bytes taken so far
	limit int64
	buf   []byte // see lend
}

func newProtoStream(body io.Reader, lim Limits) protoStream {
	return protoStream{r: bufio.NewReaderSize(body, readBuffer), limit: lim.frame()}
}

// full reads n bytes into new memory of that size. The body must have them.
func (s *protoStream) full(n int64) ([]byte, error) {
	if n > s.limit {
		return nil, &TooLargeError{Size: n, Limit: s.limit}
	}
	return s.read(make([]byte, n))
}

// keepBuffer is the largest buffer that is kept from one object to the next.
const keepBuffer = 64 << 10

// lend is full into memory that the next call takes again.
func (s *protoStream) lend(n int64) ([]byte, error) {
	if n > keepBuffer || n > s.limit {
		return s.full(n)
	}
	if int64(cap(s.buf)) < n {
		s.buf = make([]byte, n+n/4)
	}
	return s.read(s.buf[:n:n])
}

func (s *protoStream) read(b []byte) ([]byte, error) {
	k, err := io.ReadFull(s.r, b)
	s.n += int64(k)
	return b, s.cut(err)
}

// discard skips n bytes.
func (s *protoStream) discard(n int64) error {
	for n > 0 {
		k, err := s.r.Discard(int(min(n, 1<<30)))
		s.n += int64(k)
		n -= int64(k)
		if err != nil {
			return s.cut(err)
		}
	}
	return nil
}

// varint reads a number. io.EOF means that the body ended before it.
func (s *protoStream) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		c, err := s.r.ReadByte()
		if err != nil {
			if shift == 0 && err == io.EOF {
				return 0, io.EOF
			}
			return 0, s.cut(err)
		}
		s.n++
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
	switch {
	case err == nil:
		return nil
	case err == io.EOF, err == io.ErrUnexpectedEOF:
		return &TruncatedError{Offset: s.n}
	}
	return bodyError(err)
}

func (s *protoStream) syntax(err error) error {
	return &SyntaxError{Encoding: Protobuf, Offset: s.n, Err: err}
}

func bodyError(err error) error { return fmt.Errorf("wire: read body: %w", err) }

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
