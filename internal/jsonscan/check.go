package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// MaxDepth is the most levels of objects and arrays.
const MaxDepth = 10_000

var errDepth = fmt.Errorf("the depth of JSON is above %d", MaxDepth)

// Checker checks that a text is one JSON value, and finds its end. The text may come in pieces. The zero Checker
// is before the start of a value.
type Checker struct {
	next        expected
	base, depth int
	// objects has a bit for each open level: an object, or else an array.
	objects [MaxDepth/64 + 1]uint64

	recording bool // records the layout
	layout    layout
	nameAt    int // start of the name that is read, if it is recorded
}

// expected is the token that must come next.
type expected uint8

const (
	atValue expected = iota
	atFirst          // of an object or array, or its end
	atName
	inName
	inText // a string that is a value
	atColon
	afterValue
	atEnd // the value is complete
)

// Begin starts a value inside of outer levels of objects and arrays. With recording set, c records its layout;
// see [Checker.Layout]. Each call of Read then needs the whole value so far, at the same offset.
func (c *Checker) Begin(outer int, recording bool) {
	c.next, c.base, c.depth, c.recording = atValue, outer, outer, recording
	c.layout.begin()
}

// Done reports whether the value is complete.
func (c *Checker) Done() bool { return c.next == atEnd }

// Layout returns the spans of the long values of an object. repeats says that the object, or a member of it, may
// have two members of one name.
func (c *Checker) Layout() (long Spans, repeats bool) { return c.layout.long, c.layout.repeats }

// Read reads from b[i] to the end of the value or of b, and returns the offset where it stopped. If the value is
// not done, the next call gets b[i:] with further bytes. last says that there are none, which may end a number.
func (c *Checker) Read(b []byte, i int, last bool) (int, error) {
	var st textState
	var ch byte
	base := c.base
	in := c.in() // the brace or bracket of the innermost level
	near := -1   // the layout is recorded at a lower depth
	if c.recording {
		near = base + layoutLevels + 1
	}
	switch c.next {
	case atValue:
		goto value
	case atFirst:
		goto first
	case atName:
		goto name
	case inName:
		goto nameText
	case inText:
		goto text
	case atColon:
		goto colon
	case afterValue:
		goto after
	}
	return i, nil

value:
	if i >= len(b) {
		c.next = atValue
		return i, nil
	}
	switch ch = b[i]; ch {
	case '"':
		i++
		goto text
	case '{', '[':
		i++
		if c.depth == MaxDepth {
			return i - 1, errDepth
		}
		if i < len(b) && b[i] == ch+2 { // the closing brace or bracket
			i++
			goto after
		}
		in = ch
		if c.depth < near {
			c.layout.enter(c.depth-base, i-1)
		}
		c.open(ch)
		goto first
	case ' ', '\n', '\r', '\t':
		i = Space(b, i)
		goto value
	default:
		from := i
		if i, st = scalarEnd(b, i, last); st == whole {
			goto after
		}
		if st == bad {
			return i, Unexpected(b[i], "in a value")
		}
		c.next = atValue
		return from, nil
	}

text:
	if i, st = textEnd(b, i); st != whole {
		c.next = inText
		return i, textError(b, i, st)
	}
	goto after

first:
	if i = Space(b, i); i >= len(b) {
		c.next = atFirst
		return i, nil
	}
	if b[i] != in+2 {
		if in == '[' {
			goto value
		}
		goto name
	}

closed:
	i++
	if in = c.close(); c.depth < near {
		c.layout.leave(c.depth-base, i)
	}

after:
	if c.depth == base {
		c.next = atEnd
		return i, nil
	}
	if i >= len(b) {
		c.next = afterValue
		return i, nil
	}
	switch ch = b[i]; ch {
	case ',':
		i++
		if in == '[' {
			goto value
		}
		goto name
	case in + 2: // the closing brace or bracket
		goto closed
	case ' ', '\n', '\r', '\t':
		i = Space(b, i)
		goto after
	}
	return i, Unexpected(ch, "behind a value")

name:
	if i >= len(b) || b[i] != '"' {
		if i = Space(b, i); i >= len(b) {
			c.next = atName
			return i, nil
		}
		if b[i] != '"' {
			return i, Unexpected(b[i], "where the name of a member begins")
		}
	}
	i++
	if c.depth < near {
		c.nameAt = i
	}

nameText:
	if i, st = textEnd(b, i); st != whole {
		c.next = inName
		return i, textError(b, i, st)
	}
	if c.depth < near {
		c.layout.name(c.depth-base, b, c.nameAt, i-1)
	}
	if i < len(b) && b[i] == ':' {
		i++
		goto value
	}

colon:
	if i = Space(b, i); i >= len(b) {
		c.next = atColon
		return i, nil
	}
	if b[i] == ':' {
		i++
		goto value
	}
	return i, Unexpected(b[i], "behind the name of a member")
}

// Check checks that b is one JSON value with space around it. The other results are those of [Checker.Layout].
func Check(b []byte) (long Spans, repeats bool, err error) {
	var c Checker
	c.Begin(0, true)
	i, err := c.Read(b, 0, true)
	switch {
	case err != nil:
		return Spans{}, false, fmt.Errorf("at byte %d: %w", i, err)
	case !c.Done():
		return Spans{}, false, ErrCut
	case Space(b, i) < len(b):
		return Spans{}, false, ErrMore
	}
	long, repeats = c.Layout()
	return long, repeats, nil
}

// open enters an object or array, by its brace or bracket.
func (c *Checker) open(brace byte) {
	if bit := uint64(1) << (c.depth & 63); brace == '{' {
		c.objects[c.depth>>6] |= bit
	} else {
		c.objects[c.depth>>6] &^= bit
	}
	c.depth++
}

// close leaves the innermost level, and returns the brace or bracket of the next.
func (c *Checker) close() byte {
	c.depth--
	return c.in()
}

// in returns the opening brace or bracket of the innermost level.
func (c *Checker) in() byte {
	d := max(c.depth-1, 0)
	return '[' + byte(c.objects[d>>6]>>(d&63)&1)<<5
}

// textState is the state of a string or another scalar.
type textState uint8

const (
	whole textState = iota // complete
	open                   // it may continue in further bytes
	bad
)

// textEnd reads a string from i, which is after its opening quote. It returns the offset after the closing quote;
// of an open string the offset to continue at, and of a bad one that of the error.
func textEnd(b []byte, i int) (int, textState) {
	for {
		for len(b)-i >= 8 {
			if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, open
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, whole
		case c < ' ':
			return i, bad
		case c == '\\':
			var st textState
			if i, st = escapeEnd(b, i); st != whole {
				return i, st
			}
		default: // one of the last bytes
			i++
		}
	}
}

// escapeEnd reads the escape sequence at i.
func escapeEnd(b []byte, i int) (int, textState) {
	if i+1 >= len(b) {
		return i, open
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2, whole
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) {
				return i, open
			}
			if c := b[k]; c-'0' > 9 && (c|0x20 < 'a' || c|0x20 > 'f') {
				return i, bad
			}
		}
		return i + 6, whole
	}
	return i, bad
}

// special sets a bit in each byte of w that is a quote, a backslash or a control character. Bits above the lowest
// may be wrong.
func special(w uint64) uint64 {
	quote, slash := w^quotes, w^slashes
	return ((w-blanks)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// scalarEnd reads a number, true, false or null at i, and returns the offset after it, or that of an error. last
// says that no bytes follow b.
func scalarEnd(b []byte, i int, last bool) (int, textState) {
	switch b[i] {
	case 't':
		return wordEnd(b, i, "true")
	case 'f':
		return wordEnd(b, i, "false")
	case 'n':
		return wordEnd(b, i, "null")
	}
	i, _, ok := number(b, i)
	switch {
	case i >= len(b) && !(ok && last):
		return i, open
	case !ok: // a digit is missing
		return i, bad
	}
	return i, whole
}

func wordEnd(b []byte, i int, word string) (int, textState) {
	switch have := string(b[i:min(i+len(word), len(b))]); {
	case have == word:
		return i + len(word), whole
	case strings.HasPrefix(word, have):
		return i, open
	}
	return i, bad
}

// textError returns the error for a bad string, and nil for an open one.
func textError(b []byte, i int, st textState) error {
	switch {
	case st == open:
		return nil
	case b[i] == '\\':
		return fmt.Errorf("invalid escape sequence %q in a string", b[i:min(i+6, len(b))])
	}
	return Unexpected(b[i], "in a string")
}

// Unexpected returns the error for a byte at a place where it is not valid.
func Unexpected(c byte, where string) error {
	return fmt.Errorf("invalid character %q %s", c, where)
}
