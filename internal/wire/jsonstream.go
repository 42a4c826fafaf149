package wire

import (
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// jsonStream parses JSON, and holds one value at a time. The bytes that it returns are valid until the next fill.
// A method that returns ErrIncomplete is called once more after the fill, and resumes.
//
//	for member() {
//		value()
//		inMember = false
//	}
type jsonStream struct {
	window
	limit    int64
	fresh    bool   // the innermost object or array has had no element yet
	comma    bool   // the name of a member is next
	inMember bool   // the value of a member is next
	key      []byte // the name of that member
	depth    int    // number of open objects and arrays
	checker  jsonscan.Checker
	inValue  bool // a value has begun
	scanned  int  // how much of it the checker has seen
}

func newJSONStream(lim Limits) *jsonStream {
	return &jsonStream{window: newWindow(lim), limit: lim.frame()}
}

// peek returns the next byte that is not a space, or 0 and an error.
func (s *jsonStream) peek() (byte, error) {
	if s.at = jsonscan.Space(s.buf, s.at); s.at < len(s.buf) {
		return s.buf[s.at], nil
	}
	err := s.more(0)
	if s.depth > 0 { // io.EOF is the end of a body only outside of objects and arrays
		err = s.cut(err)
	}
	return 0, err
}

// has reports whether the next byte is c, and in the buffer.
func (s *jsonStream) has(c byte) bool { return s.at < len(s.buf) && s.buf[s.at] == c }

// open enters an object or array. c is its brace or bracket, which must come next.
func (s *jsonStream) open(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return s.syntax(jsonscan.Unexpected(got, "where "+jsonscan.KindName(c)+" begins"))
	}
	s.at++
	s.depth++
	s.fresh = true
	return nil
}

// next moves to the next element of the innermost object or array, or leaves it.
func (s *jsonStream) next(end byte) (bool, error) {
	c, err := s.peek()
	switch {
	case err != nil:
		return false, err
	case c == end:
		s.at++
		s.depth--
		s.fresh = false
		return false, nil
	case s.fresh:
		s.fresh = false
		return true, nil
	case c != ',':
		return false, s.syntax(jsonscan.Unexpected(c, "behind a value"))
	}
	comma := s.at
	s.at++
	if c, err = s.peek(); err == nil && c == end {
		err = s.syntax(jsonscan.Unexpected(c, "behind a comma"))
	}
	if err == ErrIncomplete {
		s.at = comma
	}
	return err == nil, err
}

// member moves to the value of the next member of the outermost object, and enters that object. There is no further
// member if more is false. The caller clears inMember after it has read the value.
func (s *jsonStream) member() (more bool, err error) {
	if s.depth == 0 {
		if err := s.open('{'); err != nil {
			return false, err
		}
	}
	if s.inMember {
		return true, nil
	}
	if !s.comma {
		if s.comma, err = s.next('}'); !s.comma {
			return false, err
		}
	}
	if c, err := s.peek(); err != nil {
		return false, err
	} else if c != '"' {
		return false, s.syntax(jsonscan.Unexpected(c, "where the name of a member begins"))
	}
	begin := s.at
	v, err := s.value()
	if err != nil {
		return false, err
	}
	switch c, err := s.peek(); {
	case err == ErrIncomplete:
		s.at = begin
		return false, err
	case err != nil:
		return false, err
	case c != ':':
		return false, s.syntax(jsonscan.Unexpected(c, "behind the name of a member"))
	}
	s.at++
	s.key, s.comma, s.inMember = append(s.key[:0], jsonscan.Unquote(v)...), false, true
	return true, nil
}

// value reads a value.
func (s *jsonStream) value() (jsontext.Value, error) {
	n, err := s.scan(true)
	switch {
	case err != nil:
		return nil, err
	case int64(n) > s.limit:
		return nil, &TooLargeError{Size: int64(n), Limit: s.limit}
	}
	return s.take(n), nil
}

// object reads a value as an object of a kind, valid as long as that of value.
func (s *jsonStream) object(k *Kind) (Raw, error) {
	v, err := s.value()
	if err != nil {
		return Raw{}, err
	}
	return Raw{Kind: k, Encoding: JSON, Bytes: v}.known(s.checker.Layout()), nil
}

// skip skips a value, and holds little of it.
func (s *jsonStream) skip() error {
	n, err := s.scan(false)
	s.at += n
	return err
}

// scan checks the next value. The value is then the next n bytes of the buffer, or its end if keep is false.
func (s *jsonStream) scan(keep bool) (n int, err error) {
	if !s.inValue {
		if _, err := s.peek(); err != nil {
			return 0, err
		}
		s.checker.Begin(s.depth, keep)
		s.inValue, s.scanned = true, 0
	}
	last := s.err == io.EOF
	if n, err = s.checker.Read(s.buf[s.at:], s.scanned, last); err != nil {
		s.at += n
		return 0, s.syntax(err)
	}
	if s.checker.Done() {
		s.inValue = false
		return n, nil
	}
	if !keep {
		s.at += n
		n = 0
	}
	s.scanned = n
	switch {
	case int64(s.held()) >= s.limit+slack:
		return 0, &TooLargeError{Size: s.limit + 1, Limit: s.limit}
	case last:
		return 0, s.truncated()
	}
	return 0, s.window.more(0)
}

func (s *jsonStream) syntax(err error) error {
	return &SyntaxError{Encoding: JSON, Offset: s.offset(), Err: err}
}
