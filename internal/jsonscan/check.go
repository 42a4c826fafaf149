package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// MaxDepth is how many objects and arrays may be open at once.
const MaxDepth = 10_000

var errDepth = fmt.Errorf("the depth of JSON is above %d", MaxDepth)

// Checker checks that what it is given is one JSON value, and finds the end of it. The value may
// come in pieces. The zero value begins a value.
type Checker struct {
	next        turn
	base, depth int
	// objects has a bit for each open level: an object, or else an array.
	objects [MaxDepth/64 + 1]uint64

	noting bool // what Begin was told
	notes  notes
	nameAt int // where the name begins that is read, if it is noted
}

// turn is what may come next.
type turn uint8

const (
	atValue turn = iota
	atFirst      // of an object or array, or its end
	atName
	inName
	inText // a string that is a value
	atColon
	afterValue
	atEnd // the value is whole
)

// Begin makes c ready for a value that stands inside of so many others. noting says that it takes
// notes, see [Checker.Notes]. All of the value then stays before Read, at the same offset.
func (c *Checker) Begin(outer int, noting bool) {
	c.next, c.base, c.depth, c.noting = atValue, outer, outer, noting
	c.notes.begin()
}

// Done reports whether the value is whole.
func (c *Checker) Done() bool { return c.next == atEnd }

// Notes returns where long values of an object are. repeats says that it may have two members of one
// name, or a member that is such an object.
func (c *Checker) Notes() (long Spans, repeats bool) { return c.notes.long, c.notes.repeats }

// Read goes on at b[i], up to the end of the value or of b, and returns where it stopped. Unless the
// value is done, the next call has b[i:] and more behind it. last says that there is no more, which
// is how a number may end.
func (c *Checker) Read(b []byte, i int, last bool) (int, error) {
	var st textState
	var ch byte
	base := c.base
	in := c.in() // the brace or bracket of the innermost level
	near := -1   // at a lower depth notes are taken
	if c.noting {
		near = base + notedLevels + 1
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
		if i < len(b) && b[i] == ch+2 { // the brace or bracket that shuts it
			i++
			goto after
		}
		in = ch
		if c.depth < near {
			c.notes.enter(c.depth-base, i-1)
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

shut:
	i++
	if in = c.shut(); c.depth < near {
		c.notes.leave(c.depth-base, i)
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
	case in + 2: // the brace or bracket that shuts it
		goto shut
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
		c.notes.name(c.depth-base, b, c.nameAt, i-1)
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

// Check checks that b is one JSON value with space around it. The other results are those of
// [Checker.Notes].
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
	long, repeats = c.Notes()
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

// shut leaves the innermost level, and returns the brace or bracket of the next.
func (c *Checker) shut() byte {
	c.depth--
	return c.in()
}

// in is the brace or bracket of the innermost level.
func (c *Checker) in() byte {
	d := max(c.depth-1, 0)
	return '[' + byte(c.objects[d>>6]>>(d&63)&1)<<5
}

// textState is what is known of a text or another scalar.
type textState uint8

const (
	whole textState = iota
	open            // it may go on behind what there is
	bad
)

// textEnd reads a text whose quote is before i, and returns the offset behind the one that ends it;
// if the text is open, where to go on; if it is bad, where.
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

// special has a bit in the bytes of w that are quotes, backslashes or control characters. Only the
// lowest is sure.
func special(w uint64) uint64 {
	quote, slash := w^quotes, w^slashes
	return ((w-blanks)&^w | (quote-ones)&^quote | (slash-ones)&^slash) & highs
}

// scalarEnd reads a number, true, false or null at i, and returns the offset behind it; if it is
// bad, where. last says that nothing comes behind b.
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

// textError says why a text that is open or bad cannot be gone on with: nil if it can.
func textError(b []byte, i int, st textState) error {
	switch {
	case st == open:
		return nil
	case b[i] == '\\':
		return fmt.Errorf("invalid escape sequence %q in a string", b[i:min(i+6, len(b))])
	}
	return Unexpected(b[i], "in a string")
}

// Unexpected returns the error for a byte that cannot stand where it does.
func Unexpected(c byte, where string) error {
	return fmt.Errorf("invalid character %q %s", c, where)
}
