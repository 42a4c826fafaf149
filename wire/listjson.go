package wire

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// jsonList reads an object with members apiVersion, kind, metadata and items, in any order.
type jsonList struct {
	s                *jsonStream
	kind             *Kind
	state            jsonListState
	apiVersion, name string
	checked          bool
	mayBe            bool // it is of a kind of its own, and items tell whether it is a list
	proven           bool // an item has said that it is of the kind
	hasItems         bool
	m                ListMeta
	status           map[string]jsontext.Value // members of a Status, in case it is one
}

type jsonListState uint8

const (
	listStart jsonListState = iota
	listMembers
	listItems
	listEnd
)

func (l *jsonList) meta() ListMeta {
	m := l.m
	m.Metadata = isMetadataList(l.apiVersion, l.name)
	return m
}

func (l *jsonList) next() (Raw, error) {
	if l.state == listStart {
		if err := l.start(); err != nil {
			return Raw{}, err
		}
	}
	for {
		switch l.state {
		case listItems:
			more, err := l.s.more(']')
			if err != nil {
				return Raw{}, err
			}
			if more {
				return l.item()
			}
			l.state = listMembers
		case listMembers:
			if err := l.member(); err != nil {
				return Raw{}, err
			}
		case listEnd:
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
	l.state = listMembers
	return l.s.open('{')
}

func (l *jsonList) item() (Raw, error) {
	raw, err := l.s.object(l.kind)
	if err != nil {
		return Raw{}, err
	}
	ours, err := raw.foreign()
	l.proven = l.proven || ours
	return raw, err
}

// member reads one member of the list, or its end.
func (l *jsonList) member() error {
	more, err := l.s.more('}')
	if err != nil {
		return err
	}
	if !more {
		l.state = listEnd
		return nil
	}
	b, err := l.s.name()
	if err != nil {
		return err
	}
	switch name := string(b); name {
	case "apiVersion", "kind":
		v, err := l.s.value()
		if err != nil {
			return err
		}
		if v.Kind() != '"' {
			return l.s.syntax(errors.New(name + ": want a string, got " + kindOf(v.Kind())))
		}
		if name == "kind" {
			l.name = string(unquote(v))
		} else {
			l.apiVersion = string(unquote(v))
		}
		return l.checkKind()
	case "metadata":
		return l.readMeta()
	case "items":
		l.hasItems = true
		switch c, err := l.s.peek(); {
		case err != nil:
			return err
		case c == 'n':
			return l.s.skip()
		case c != '[':
			v, err := l.s.value()
			if err != nil {
				return err
			}
			return l.s.syntax(errors.New("items: want an array, got " + kindOf(v.Kind())))
		}
		l.state = listItems
		return l.s.open('[')
	case "status", "message", "reason", "details", "code":
		v, err := l.s.value()
		if err == nil {
			if l.status == nil {
				l.status = make(map[string]jsontext.Value)
			}
			l.status[name] = v.Clone()
		}
		return err
	}
	return l.s.skip()
}

// checkKind looks at the kind of the answer as soon as it is known. A Status is read to its end
// before it is reported.
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

func (l *jsonList) readMeta() error {
	v, err := l.s.value()
	if err != nil {
		return err
	}
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

// end checks what only the end of the list can tell.
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
	if !l.hasItems && l.kind.GoType() == nil {
		return l.s.syntax(errNoItems)
	}
	if _, err := l.s.peek(); err != nil {
		return err // io.EOF
	}
	return l.s.syntax(errors.New("more after the list"))
}

var errNoItems = errors.New("list without items")

// foreign returns a *DecodeError if a JSON object says, in its first members, that it is of another
// kind, and reports whether it says there that it is of this one. The server writes the kind there;
// [Raw.Header] looks at all of the object.
func (r Raw) foreign() (ours bool, _ error) {
	var apiVersion, kind string
	d := viewReader{b: r.Bytes}
	more, err := d.begin('{', '}')
	for range 2 {
		if !more || err != nil {
			break
		}
		var name, text []byte
		if name, err = d.name(); err != nil {
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
		if text, err = d.str(); err == nil {
			*to = string(text)
			more, err = d.next('}')
		}
	}
	switch {
	case err != nil || apiVersion == "" || kind == "":
		return false, nil // what else is wrong, Header says
	case r.Kind.is(apiVersion, kind):
		return true, nil
	}
	return false, r.failed("", &KindError{Want: r.Kind.GVK, Got: schema.FromAPIVersionAndKind(apiVersion, kind)})
}
