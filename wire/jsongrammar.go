package wire

import (
	"errors"
	"fmt"
)

// grammar checks that what it is given is one JSON value, and finds the end of it. The value may
// come in pieces. Names may be equal, and texts need not be UTF-8. The zero value begins a value.
type grammar struct {
	at    turn
	depth int
	// objects has a bit for each level that is open: an object, or else an array.
	objects [maxDepth/64 + 1]uint64

	noting bool // what begin was told
	notes  notes
	nameAt int // where the name begins that is read, if it is one to be noted
}

// turn is what may come next.
type turn uint8

const (
	atValue      turn = iota
	atFirstValue      // of an array, or its end
	atName
	atFirstName // of an object, or its end
	inName
	inText // that is a value
	atColon
	afterValue
	atEnd // the value is whole
)

// maxDepth is how many objects and arrays may be open at once.
const maxDepth = 10_000

var errDepth = errors.New("JSON is nested too deeply")

// begin makes g ready for a value that stands inside of so many others. noting: it is to take notes,
// for which all of the value stays before read, at the same offset.
func (g *grammar) begin(outer int, noting bool) {
	g.at, g.depth, g.noting = atValue, outer, noting
	g.notes.begin()
}

// read goes on at b[i], up to the end of the value or of b, and returns where it stopped. The value
// is whole if g.at is atEnd then; else read is called again with b[i:] and more behind it. last says
// that there is no more, which is how a number may end. base is the depth that begin was given.
func (g *grammar) read(b []byte, i, base int, last bool) (int, error) {
	var st textState
	var c byte
	in := g.in() // the brace or bracket of the innermost level
	near := -1   // at a lower depth there are notes to take
	if g.noting {
		near = base + noted + 1
	}
	switch g.at {
	case atValue:
		goto value
	case atFirstValue:
		goto firstValue
	case atName:
		goto name
	case atFirstName:
		goto firstName
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
		g.at = atValue
		return i, nil
	}
	switch c = b[i]; c {
	case '"':
		i++
		goto text
	case '{', '[':
		i++
		if g.depth == maxDepth {
			return i - 1, errDepth
		}
		if i < len(b) && b[i] == c+2 { // the brace or bracket that shuts it
			i++
			goto after
		}
		in = c
		if g.depth < near {
			g.notes.enter(g.depth-base, i-1)
		}
		g.open(c)
		if c == '[' {
			goto firstValue
		}
		goto firstName
	case ' ', '\n', '\r', '\t':
		i = skipSpace(b, i)
		goto value
	default:
		from := i
		if i, st = scalarEnd(b, i, last); st == textWhole {
			goto after
		}
		if st == textBad {
			return i, unexpected(b[i], "in a value")
		}
		g.at = atValue
		return from, nil
	}

text:
	if i, st = textEnd(b, i); st != textWhole {
		g.at = inText
		return i, textError(b, i, st)
	}

after:
	if g.depth == base {
		g.at = atEnd
		return i, nil
	}
	if i >= len(b) {
		g.at = afterValue
		return i, nil
	}
	switch c = b[i]; c {
	case ',':
		i++
		if in == '[' {
			goto value
		}
		goto name
	case in + 2:
		i++
		if in = g.shut(); g.depth < near {
			g.notes.leave(g.depth-base, i)
		}
		goto after
	case ' ', '\n', '\r', '\t':
		i = skipSpace(b, i)
		goto after
	}
	return i, unexpected(c, "behind a value")

name:
	if i >= len(b) || b[i] != '"' {
		if i = skipSpace(b, i); i >= len(b) {
			g.at = atName
			return i, nil
		}
		if b[i] != '"' {
			return i, unexpected(b[i], "where the name of a member begins")
		}
	}
	i++
	if g.depth < near {
		g.nameAt = i
	}

nameText:
	if i, st = textEnd(b, i); st != textWhole {
		g.at = inName
		return i, textError(b, i, st)
	}
	if g.depth < near {
		g.notes.name(g.depth-base, b, g.nameAt, i-1)
	}
	if i < len(b) && b[i] == ':' {
		i++
		goto value
	}

colon:
	if i = skipSpace(b, i); i >= len(b) {
		g.at = atColon
		return i, nil
	}
	if b[i] == ':' {
		i++
		goto value
	}
	return i, unexpected(b[i], "behind the name of a member")

firstName:
	if i = skipSpace(b, i); i >= len(b) {
		g.at = atFirstName
		return i, nil
	}
	if b[i] == '}' {
		i++
		if in = g.shut(); g.depth < near {
			g.notes.leave(g.depth-base, i)
		}
		goto after
	}
	goto name

firstValue:
	if i = skipSpace(b, i); i >= len(b) {
		g.at = atFirstValue
		return i, nil
	}
	if b[i] == ']' {
		i++
		if in = g.shut(); g.depth < near {
			g.notes.leave(g.depth-base, i)
		}
		goto after
	}
	goto value
}

// open enters an object or array, by its brace or bracket.
func (g *grammar) open(c byte) {
	if bit := uint64(1) << (g.depth & 63); c == '{' {
		g.objects[g.depth>>6] |= bit
	} else {
		g.objects[g.depth>>6] &^= bit
	}
	g.depth++
}

// shut leaves the innermost level, and returns the brace or bracket of the next.
func (g *grammar) shut() byte {
	g.depth--
	return g.in()
}

// in is the brace or bracket of the innermost level.
func (g *grammar) in() byte {
	d := max(g.depth-1, 0)
	return '[' + byte(g.objects[d>>6]>>(d&63)&1)<<5
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func unexpected(c byte, where string) error {
	return fmt.Errorf("invalid character %q %s", c, where)
}
