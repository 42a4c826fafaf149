package wire

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// jsonWatch reads JSON values one after the other, each with the members type and object.
type jsonWatch struct {
	s    *jsonStream
	kind *Kind
	buf  []byte // of the object
}

func (w *jsonWatch) buffered() int { return len(w.s.d.UnreadBuffer()) }

func (w *jsonWatch) next() (EventType, Raw, error) {
	t, err := w.s.token()
	if err != nil {
		return 0, Raw{}, err
	}
	if t.Kind() != '{' {
		return 0, Raw{}, w.syntax(errNotObject)
	}
	var name, object []byte
	for w.s.peek() != '}' {
		member, err := w.s.name()
		if err != nil {
			return 0, Raw{}, err
		}
		switch member {
		case "type":
			v, err := w.s.value()
			if err != nil {
				return 0, Raw{}, err
			}
			if v.Kind() != '"' {
				return 0, Raw{}, w.syntax(errors.New("type: want a string, got " + kindOf(v.Kind())))
			}
			name = append(name[:0], unquote(v)...)
		case "object":
			v, err := w.s.value()
			if err != nil {
				return 0, Raw{}, err
			}
			object = append(w.buf[:0], v...)
			if w.buf = object; cap(w.buf) > keepBuffer {
				w.buf = nil
			}
		default:
			if err := w.s.skip(); err != nil {
				return 0, Raw{}, err
			}
		}
	}
	if _, err := w.s.token(); err != nil {
		return 0, Raw{}, err
	}
	if object == nil {
		return 0, Raw{}, w.syntax(errors.New("event without an object"))
	}
	return w.event(name, object)
}

func (w *jsonWatch) event(name, object []byte) (EventType, Raw, error) {
	t, err := eventType(name)
	if err != nil {
		return 0, Raw{}, err
	}
	raw := Raw{Kind: w.kind, Encoding: JSON, Bytes: object, checked: true}
	if t != Error {
		return t, raw, raw.foreign()
	}
	var is struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &is); err != nil {
		return 0, Raw{}, w.syntax(err)
	}
	if !isStatus(is.APIVersion, is.Kind) {
		return 0, Raw{}, &KindError{Want: w.kind.GVK, Got: schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)}
	}
	return t, raw, nil
}

func (w *jsonWatch) syntax(err error) error {
	return &SyntaxError{Encoding: JSON, Offset: w.s.d.InputOffset(), Err: err}
}
