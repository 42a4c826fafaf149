package wire

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// jsonList reads an object with members apiVersion, kind, metadata and items, in any order.
type jsonList struct {
	s                *jsonStream
	kind             *Kind
	state            streamState
	member           string // the name of the member whose value is next
	apiVersion, name string
	checked          bool
	mayBe            bool // only the items show whether it is a list of the kind
	proven           bool // an item is of the kind
	hasItems         bool
	hasMeta          bool
	m                ListMeta
	status           map[string]jsontext.Value // members of a Status, in case it is one
}

func (l *jsonList) meta() ListMeta {
	return l.m
}

func (l *jsonList) next() (Raw, error) {
	for {
		switch l.state {
		case comesStart:
			if err := l.start(); err != nil {
				return Raw{}, err
			}
			l.state = comesMember
		case comesMember:
			more, err := l.s.next('}')
			if err != nil {
				return Raw{}, err
			}
			if l.state = comesEnd; more {
				l.state = comesName
			}
		case comesName:
			b, err := l.s.name()
			if err != nil {
				return Raw{}, err
			}
			l.member, l.state = string(b), comesValue
		case comesValue:
			if err := l.value(); err != nil {
				return Raw{}, err
			}
		case comesElement:
			more, err := l.s.next(']')
			if err != nil {
				return Raw{}, err
			}
			if l.state = comesMember; more {
				l.state = comesItem
			}
		case comesItem:
			raw, err := l.s.object(l.kind)
			if err != nil {
				return Raw{}, err
			}
			l.state = comesElement
			ours, err := raw.foreign()
			l.proven = l.proven || ours
			return raw, err
		case comesEnd:
			return Raw{}, l.end()
		}
	}
}

func (l *jsonList) start() error {
	switch c, err := l.s.peek(); {
	case err == io.EOF:
		return &TruncatedError{}
	case err != nil:
		return err
	case c != '{':
		return l.s.syntax(errNotObject)
	}
	return l.s.open('{')
}

// value reads the value of a member, or enters the items.
func (l *jsonList) value() error {
	if l.member == "items" {
		c, err := l.s.peek()
		if err != nil {
			return err
		}
		if l.hasItems {
			return l.s.syntax(errTwice)
		}
		if c == '[' {
			l.hasItems, l.state = true, comesElement
			return l.s.open('[')
		}
	}
	var v jsontext.Value
	var err error
	switch l.member {
	case "apiVersion", "kind", "metadata", "items", "status", "message", "reason", "details", "code":
		v, err = l.s.value()
	default:
		err = l.s.skip()
	}
	if err != nil {
		return err
	}
	l.state = comesMember
	switch l.member {
	case "apiVersion", "kind":
		if v.Kind() != '"' {
			return l.s.syntax(errors.New(l.member + ": want a string, got " + jsonscan.KindName(v[0])))
		}
		if l.member == "kind" {
			l.name = string(jsonscan.Unquote(v))
		} else {
			l.apiVersion = string(jsonscan.Unquote(v))
		}
		return l.checkKind()
	case "metadata":
		if l.hasMeta {
			return l.s.syntax(errTwice)
		}
		l.hasMeta = true
		return l.readMeta(v)
	case "items":
		if v.Kind() != 'n' {
			return l.s.syntax(errors.New("items: want an array, got " + jsonscan.KindName(v[0])))
		}
		l.hasItems = true
	case "status", "message", "reason", "details", "code":
		if l.status == nil {
			l.status = make(map[string]jsontext.Value)
		}
		l.status[l.member] = v.Clone()
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

func (l *jsonList) readMeta(v jsontext.Value) error {
	var m struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
		Remaining       *int64 `json:"remainingItemCount"`
	}
	if err := json.Unmarshal(v, &m); err != nil {
		return l.s.syntax(err)
	}
	l.m = ListMeta{ResourceVersion: m.ResourceVersion, Continue: m.Continue, Remaining: m.Remaining}
	return nil
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
	var apiVersion, kind string
	d := jsonscan.Reader{B: r.Bytes}
	more, err := d.Begin('{')
	for range 2 {
		if !more || err != nil {
			break
		}
		var name, text []byte
		if name, err = d.Name(); err != nil {
			break
		}
		var to *string
		switch string(name) {
		case "apiVersion":
			to = &apiVersion
		case "kind":
			to = &kind
		default:
			more = false
			continue
		}
		if text, err = d.Text(); err == nil {
			*to = string(text)
			more, err = d.Next('}')
		}
	}
	switch {
	case err != nil || apiVersion == "" || kind == "":
		return false, nil // Header returns other errors
	case r.Kind.is(apiVersion, kind):
		return true, nil
	}
	return false, r.failed("", &KindError{Want: r.Kind.GVK, Got: schema.FromAPIVersionAndKind(apiVersion, kind)})
}
