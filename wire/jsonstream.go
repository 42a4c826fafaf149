package wire

import (
	"bytes"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonStream reads JSON off a body, without holding more than one value. What it gives out of its
// buffer is good until the next read.
//
//	open('{')
//	for more('}') {
//		name()
//		value()
//	}
type jsonStream struct {
	window
	limit   int64
	fresh   bool // an object or array was entered, and has had no element so far
	depth   int  // how many are open
	grammar grammar
}

func newJSONStream(body io.Reader, lim Limits) *jsonStream {
	return &jsonStream{window: newWindow(body, lim), limit: lim.frame()}
}

// peek is the next byte that is no space, 0 if there is none: then the error says why.
func (s *jsonStream) peek() (byte, error) {
	for {
		if s.at = skipSpace(s.buf, s.at); s.at < len(s.buf) {
			return s.buf[s.at], nil
		}
		if err := s.fill(0); err != nil {
			return 0, s.cut(err)
		}
	}
}

// has reports whether that byte comes next, and is in the buffer.
func (s *jsonStream) has(c byte) bool { return s.at < len(s.buf) && s.buf[s.at] == c }

// cut is the error of a body that ends: io.EOF only where it may.
func (s *jsonStream) cut(err error) error {
	if err == io.EOF && s.depth > 0 {
		return s.truncated()
	}
	return err
}

// open enters an object or array, by its brace or bracket, if that is what comes.
func (s *jsonStream) open(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return s.syntax(unexpected(got, "where "+kindOf(jsontext.Kind(c))+" begins"))
	}
	s.at++
	s.depth++
	s.fresh = true
	return nil
}

// more goes to the next element of what is open, or leaves it.
func (s *jsonStream) more(end byte) (bool, error) {
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
		return false, s.syntax(unexpected(c, "behind a value"))
	}
	s.at++
	if c, err = s.peek(); err == nil && c == end {
		err = s.syntax(unexpected(c, "behind a comma"))
	}
	return err == nil, err
}

// name reads the name of a member, and the colon behind it.
func (s *jsonStream) name() ([]byte, error) {
	if c, err := s.peek(); err != nil {
		return nil, err
	} else if c != '"' {
		return nil, s.syntax(unexpected(c, "where the name of a member begins"))
	}
	v, err := s.value()
	if err != nil {
		return nil, err
	}
	name := unquote(v)
	if !s.has(':') {
		name = bytes.Clone(name)
	}
	switch c, err := s.peek(); {
	case err != nil:
		return nil, err
	case c != ':':
		return nil, s.syntax(unexpected(c, "behind the name of a member"))
	}
	s.at++
	return name, nil
}

// value reads a whole value.
func (s *jsonStream) value() (jsontext.Value, error) {
	n, err := s.read(true)
	switch {
	case err != nil:
		return nil, err
	case int64(n) > s.limit:
		return nil, &TooLargeError{Size: int64(n), Limit: s.limit}
	}
	return s.take(n), nil
}

// object reads a whole value as an object of a kind, lent like a value.
func (s *jsonStream) object(k *Kind) (Raw, error) {
	v, err := s.value()
	if err != nil {
		return Raw{}, err
	}
	return Raw{Kind: k, Encoding: JSON, Bytes: v}.known(&s.grammar.notes), nil
}

// skip passes over a value. However large it is, little of it is held.
func (s *jsonStream) skip() error {
	n, err := s.read(false)
	s.at += n
	return err
}

// read looks at the value that comes, which then is the next n bytes of the buffer. If it is not to
// be kept, that is only the end of it.
func (s *jsonStream) read(keep bool) (n int, err error) {
	if _, err := s.peek(); err != nil {
		return 0, err
	}
	s.grammar.begin(s.depth, keep)
	for {
		last := s.err == io.EOF
		if n, err = s.grammar.read(s.buf[s.at:], n, s.depth, last); err != nil {
			s.at += n
			return 0, s.syntax(err)
		}
		if s.grammar.at == atEnd {
			return n, nil
		}
		if !keep {
			s.at += n
			n = 0
		}
		if int64(s.held()) >= s.limit+slack {
			return 0, &TooLargeError{Size: s.limit + 1, Limit: s.limit}
		}
		switch err = s.fill(0); {
		case err == io.EOF && last:
			return 0, s.truncated()
		case err != nil && err != io.EOF:
			return 0, err
		}
	}
}

func (s *jsonStream) syntax(err error) error {
	return &SyntaxError{Encoding: JSON, Offset: s.offset(), Err: err}
}
