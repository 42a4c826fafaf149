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
	buf              []byte // of the item
	s                *jsonStream
	kind             *Kind
	state            jsonListState
	apiVersion, name string
	checked          bool
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

func (l *jsonList) meta() ListMeta { return l.m }

func (l *jsonList) next() (Raw, error) {
	if l.state == listStart {
		if err := l.start(); err != nil {
			return Raw{}, err
		}
	}
	for {
		switch l.state {
		case listItems:
			if l.s.peek() != ']' {
				return l.item()
			}
			if _, err := l.s.token(); err != nil {
				return Raw{}, err
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
	t, err := l.s.token()
	switch {
	case err == io.EOF:
		return &TruncatedError{}
	case err != nil:
		return err
	case t.Kind() != '{':
		return &SyntaxError{Encoding: JSON, Err: errNotObject}
	}
	l.state = listMembers
	return nil
}

func (l *jsonList) item() (Raw, error) {
	v, err := l.s.value()
	if err != nil {
		return Raw{}, err
	}
	b := append(l.buf[:0], v...)
	if l.buf = b; cap(b) > keepBuffer {
		l.buf = nil
	}
	raw := Raw{Kind: l.kind, Encoding: JSON, Bytes: b, checked: true}
	return raw, raw.foreign()
}

// member reads one member of the list, or its end.
func (l *jsonList) member() error {
	if l.s.peek() == '}' {
		_, err := l.s.token()
		l.state = listEnd
		return err
	}
	name, err := l.s.name()
	if err != nil {
		return err
	}
	switch name {
	case "apiVersion", "kind":
		v, err := l.s.value()
		if err != nil {
			return err
		}
		if v.Kind() != '"' {
			return &SyntaxError{Encoding: JSON, Offset: l.s.d.InputOffset(), Err: errors.New(name + ": want a string, got " + kindOf(v.Kind()))}
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
		if k := l.s.peek(); k != '[' {
			if k == 'n' {
				return l.s.skip()
			}
			v, err := l.s.value()
			if err != nil {
				return err
			}
			return &SyntaxError{Encoding: JSON, Offset: l.s.d.InputOffset(), Err: errors.New("items: want an array, got " + kindOf(v.Kind()))}
		}
		_, err := l.s.token()
		l.state = listItems
		return err
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
	l.checked = false
	if l.apiVersion == "" || l.name == "" || isStatus(l.apiVersion, l.name) {
		return nil
	}
	if !l.kind.isList(l.apiVersion, l.name) {
		return l.wrongKind()
	}
	l.checked = true
	return nil
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
		return &SyntaxError{Encoding: JSON, Offset: l.s.d.InputOffset(), Err: err}
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
	if !l.checked {
		return l.wrongKind()
	}
	switch _, err := l.s.value(); {
	case err == io.EOF:
		return io.EOF
	case err != nil:
		return err
	}
	return &SyntaxError{Encoding: JSON, Offset: l.s.d.InputOffset(), Err: errors.New("more after the list")}
}

// foreign returns a *DecodeError if a JSON object says, in its first members, that it is of another
// kind. The server writes the kind there; [Raw.Header] looks at all of the object.
func (r Raw) foreign() error {
	var apiVersion, kind string
	err := readJSON(r.Bytes, func(j *jsonReader) error {
		if j.d.PeekKind() != '{' {
			return errNotObject
		}
		if _, err := j.d.ReadToken(); err != nil {
			return err
		}
		for range 2 {
			if j.d.PeekKind() != '"' {
				return nil
			}
			name, err := j.name()
			if err != nil {
				return err
			}
			switch string(name) {
			case "apiVersion":
				apiVersion, err = j.str()
			case "kind":
				kind, err = j.str()
			default:
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || apiVersion == "" || kind == "" || r.Kind.is(apiVersion, kind) {
		return nil // what else is wrong, Header says
	}
	return r.failed("", &KindError{Want: r.Kind.GVK, Got: schema.FromAPIVersionAndKind(apiVersion, kind)})
}
