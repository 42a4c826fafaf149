package wire

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/jsonscan"
)

// jsonList reads an object with members apiVersion, kind, metadata and items, in any order.
type jsonList struct {
	s                *jsonStream
	kind             *Kind
	inItems, inItem  bool
	ended            bool
	apiVersion, name string
	checked          bool
	mayBe            bool // only the items show whether it is a list of the kind
	proven           bool // an item is of the kind
	hasItems         bool
	m                listMeta
	status           map[string]jsontext.Value // members of a Status, in case it is one
}

func (l *jsonList) meta() ListMeta { return l.m.ListMeta }

func (l *jsonList) next() (Raw, error) {
	for !l.ended {
		if !l.inItems {
			if err := l.outer(); err != nil {
				return Raw{}, err
			}
			continue
		}
		if !l.inItem {
			more, err := l.s.next(']')
			if err != nil {
				return Raw{}, err
			}
			if l.inItems, l.inItem = more, more; !more {
				continue
			}
		}
		raw, err := l.s.object(l.kind)
		if err != nil {
			return Raw{}, err
		}
		l.inItem = false
		ours, err := raw.foreign()
		l.proven = l.proven || ours
		return raw, err
	}
	return Raw{}, l.end()
}

// outer reads a member of the list.
func (l *jsonList) outer() error {
	more, err := l.s.member()
	switch {
	case err == io.EOF:
		return &TruncatedError{}
	case err != nil:
		return err
	case !more:
		l.ended = true
		return nil
	}
	err = l.value(string(l.s.key))
	l.s.inMember = err == ErrIncomplete
	return err
}

// value reads the value of a member, or enters the items.
func (l *jsonList) value(member string) error {
	if member == "items" {
		c, err := l.s.peek()
		if err != nil {
			return err
		}
		if l.hasItems {
			return l.s.syntax(errTwice)
		}
		if c == '[' {
			l.hasItems, l.inItems = true, true
			return l.s.open('[')
		}
	}
	var v jsontext.Value
	var err error
	switch member {
	case "apiVersion", "kind", "metadata", "items", "status", "message", "reason", "details", "code":
		v, err = l.s.value()
	default:
		err = l.s.skip()
	}
	if err != nil {
		return err
	}
	switch member {
	case "apiVersion", "kind":
		if v.Kind() != '"' {
			return l.s.syntax(errors.New(member + ": want a string, got " + jsonscan.KindName(v[0])))
		}
		if member == "kind" {
			l.name = string(jsonscan.Unquote(v))
		} else {
			l.apiVersion = string(jsonscan.Unquote(v))
		}
		return l.checkKind()
	case "metadata":
		if err := l.m.read(v, decode.JSON); err != nil {
			return l.s.syntax(err)
		}
	case "items":
		if v.Kind() != 'n' {
			return l.s.syntax(errors.New("items: want an array, got " + jsonscan.KindName(v[0])))
		}
		l.hasItems = true
	case "status", "message", "reason", "details", "code":
		if l.status == nil {
			l.status = make(map[string]jsontext.Value)
		}
		l.status[member] = v.Clone()
	}
	return nil
}

// checkKind checks the kind of the answer as soon as it is known. A Status is read to its end before it is reported.
func (l *jsonList) checkKind() error {
	l.checked, l.mayBe = false, false
	if l.apiVersion == "" || l.name == "" || isStatus(l.apiVersion, l.name) {
		return nil
	}
	if l.checked, l.mayBe = l.kind.isList(l.apiVersion, l.name); l.checked || l.mayBe {
		return nil
	}
	return l.wrongKind()
}

func (l *jsonList) wrongKind() error {
	return &KindError{Want: l.kind.listGVK(), Got: schema.FromAPIVersionAndKind(l.apiVersion, l.name)}
}

// end makes the checks that need the whole list.
func (l *jsonList) end() error {
	if isStatus(l.apiVersion, l.name) {
		b, err := json.Marshal(l.status)
		if err != nil {
			return &SyntaxError{Encoding: JSON, Err: err}
		}
		return statusError(b, JSON)
	}
	if l.mayBe && l.proven {
		l.checked = true
		l.kind.listKind.Store(&l.name)
	}
	if !l.checked {
		return l.wrongKind()
	}
	if !l.hasItems && !l.kind.mayOmitItems(l.name) {
		return l.s.syntax(errNoItems)
	}
	if l.m.cut() {
		return l.s.syntax(errRemaining)
	}
	if _, err := l.s.peek(); err != nil {
		return err // io.EOF
	}
	return l.s.syntax(errors.New("more after the list"))
}

var (
	errNoItems   = errors.New("list without items")
	errTwice     = errors.New("list with two of a member")
	errRemaining = errors.New("list that ends with objects remaining")
)

// foreign returns a *DecodeError if the first members of a JSON object name another kind, and reports whether they
// name this one. The server writes the kind first; [Raw.Header] checks the whole object.
func (r Raw) foreign() (ours bool, _ error) {
	apiVersion, kind, _ := r.leading()
	switch {
	case len(apiVersion) == 0 || len(kind) == 0:
		return false, nil // Header returns other errors
	case r.Kind.is(string(apiVersion), string(kind)):
		return true, nil
	}
	return false, r.failed("", &KindError{Want: r.Kind.GVK, Got: schema.FromAPIVersionAndKind(string(apiVersion), string(kind))})
}

// leading reads apiVersion and kind, if they are the first members of a JSON object. rest is the offset of the first
// member after them; 0: there is none, or it cannot be read.
func (r Raw) leading() (apiVersion, kind []byte, rest int) {
	d := r.reader()
	more, err := d.Begin('{')
	for err == nil && more {
		start := d.I
		var name []byte
		if name, err = d.Name(); err != nil {
			break
		}
		switch string(name) {
		case "apiVersion":
			apiVersion, err = d.Text()
		case "kind":
			kind, err = d.Text()
		default:
			return apiVersion, kind, start
		}
		if err == nil {
			more, err = d.Next('}')
		}
	}
	if err != nil {
		return nil, nil, 0
	}
	return apiVersion, kind, 0
}
