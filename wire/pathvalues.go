package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Values reads what is at the path, in the order of the object. It is what walking over the decoded
// Go object gives: a field that is no pointer has its zero value ("", "0", "false") even if it is
// not on the wire; a nil pointer, an empty list and a missing key have no value. A time is written
// as RFC 3339 in UTC, and has no value if it is zero. Without a Go type, what is not there or null
// has no value, and numbers are written as they came.
//
// What is not of the type that the path expects is a *[DecodeError].
func (p *Path) Values(r Raw) ([]string, error) {
	e := pathEval{p: p}
	var err error
	switch {
	case r.Encoding == JSON:
		err = e.document(r)
	case r.Encoding == Protobuf && p.proto:
		err = e.message(r.Bytes, 0)
	case r.Encoding == Protobuf:
		err = errors.New("the path was compiled without a protobuf form")
	default:
		err = errEncoding
	}
	if err != nil {
		return nil, r.failed(p.text, err)
	}
	return e.out, nil
}

// pathEval collects the values of one object.
type pathEval struct {
	p   *Path
	d   viewReader // for JSON
	out []string
	// distinct says that there is no second member of one name on the upper levels.
	distinct bool
}

// errFound ends the way through a JSON object in which nothing more is to be found.
var errFound = errors.New("found")

// document reads a JSON object.
func (e *pathEval) document(r Raw) error {
	r, err := r.check()
	if err != nil {
		return err
	}
	e.d.b, e.d.long, e.distinct = r.Bytes, r.long, r.distinct()
	if e.d.space(); e.d.peek() != '{' {
		return errNotObject
	}
	if err = e.value(0); err == errFound {
		return nil
	}
	return err
}

// last reports whether no other member can have the name of hop i once one has been read.
func (e *pathEval) last(i int) bool {
	return e.distinct && (i == 0 || i == 1 && e.p.hops[0].access == single)
}

// missing adds what a Go object has where hop i has nothing on the wire.
func (e *pathEval) missing(i int) {
	if e.p.hops[i].zero {
		e.out = append(e.out, e.p.leaf.zeroText())
	}
}

// empty adds what a Go object has for an element of hop i that is null.
func (e *pathEval) empty(i int) {
	if e.p.hops[i].elemZero {
		e.out = append(e.out, e.p.leaf.zeroText())
	}
}

func (e *pathEval) add(text string) error {
	if !utf8.ValidString(text) {
		return errUTF8
	}
	e.out = append(e.out, text)
	return nil
}

// value reads the JSON value that comes next, to which hop i applies.
func (e *pathEval) value(i int) error {
	if i == len(e.p.hops) {
		v, err := e.d.value()
		if err != nil {
			return err
		}
		return e.scalar(v)
	}
	h := &e.p.hops[i]
	if h.bare {
		return e.take(i)
	}
	found, start := false, len(e.out)
	err := e.d.members(func(name []byte) error {
		if string(name) != h.name {
			return e.d.skip()
		}
		found, e.out = true, e.out[:start] // the last of equal names wins
		err := e.take(i)
		if err == nil && e.last(i) {
			err = errFound
		}
		return err
	})
	if err == nil && !found {
		e.missing(i)
	}
	return err
}

// take reads the JSON value of hop i.
func (e *pathEval) take(i int) error {
	element := func() error {
		if e.d.peek() == 'n' {
			e.empty(i)
			return e.d.skip()
		}
		return e.value(i + 1)
	}
	h := &e.p.hops[i]
	switch {
	case h.access == each:
		return e.d.elements(element)
	case h.access == byKey:
		start := len(e.out)
		return e.d.members(func(name []byte) error {
			if string(name) != h.key {
				return e.d.skip()
			}
			e.out = e.out[:start]
			return element()
		})
	}
	return element()
}

// scalar adds a single JSON value.
func (e *pathEval) scalar(v jsontext.Value) error {
	k := v.Kind()
	bad := func(want string) error { return fmt.Errorf("want %s, got %s", want, kindOf(k)) }
	switch e.p.leaf {
	case anyLeaf:
		switch k {
		case '"':
			return e.add(string(unquote(v)))
		case '0', 't', 'f':
			return e.add(string(v))
		}
		return bad("a single value")
	case stringLeaf:
		if k != '"' {
			return bad("a string")
		}
		return e.add(string(unquote(v)))
	case boolLeaf:
		if k != 't' && k != 'f' {
			return bad("a boolean")
		}
		return e.add(string(v))
	case intLeaf:
		n, err := strconv.ParseInt(string(v), 10, e.p.bits)
		if err != nil {
			return err
		}
		return e.add(strconv.FormatInt(n, 10))
	case uintLeaf:
		n, err := strconv.ParseUint(string(v), 10, e.p.bits)
		if err != nil {
			return err
		}
		return e.add(strconv.FormatUint(n, 10))
	case timeLeaf:
		if k != '"' {
			return bad("a time")
		}
		t, err := time.Parse(time.RFC3339, string(unquote(v)))
		if err != nil {
			return err
		}
		return e.time(t)
	case quantityLeaf:
		if k == '"' {
			return e.quantity(string(unquote(v)))
		}
		return e.quantity(string(v))
	case intOrStringLeaf:
		if k == '"' {
			return e.add(string(unquote(v)))
		}
		n, err := strconv.ParseInt(string(v), 10, 32)
		if err != nil {
			return err
		}
		return e.add(strconv.FormatInt(n, 10))
	}
	return bad("a single value")
}

func (e *pathEval) time(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	return e.add(t.UTC().Format(time.RFC3339))
}

// quantity adds a quantity in its canonical form.
func (e *pathEval) quantity(text string) error {
	q, err := resource.ParseQuantity(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	return e.add(q.String())
}
