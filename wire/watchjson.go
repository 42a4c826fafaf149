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
	name []byte // of the type
	buf  []byte // of an object that does not come last
}

func (w *jsonWatch) next() (EventType, Raw, error) {
	switch c, err := w.s.peek(); {
	case err != nil:
		return 0, Raw{}, err
	case c != '{':
		return 0, Raw{}, w.s.syntax(errNotObject)
	}
	if err := w.s.open('{'); err != nil {
		return 0, Raw{}, err
	}
	var object Raw
	w.name = w.name[:0]
	for {
		more, err := w.s.more('}')
		if err != nil {
			return 0, Raw{}, err
		}
		if !more {
			break
		}
		member, err := w.s.name()
		if err != nil {
			return 0, Raw{}, err
		}
		switch string(member) {
		case "type":
			v, err := w.s.value()
			if err != nil {
				return 0, Raw{}, err
			}
			if v.Kind() != '"' {
				return 0, Raw{}, w.s.syntax(errors.New("type: want a string, got " + kindOf(v.Kind())))
			}
			w.name = append(w.name[:0], unquote(v)...)
		case "object":
			if object, err = w.s.object(w.kind); err != nil {
				return 0, Raw{}, err
			}
			if !w.s.has('}') { // more is to be read, into the same buffer
				object.Bytes = append(w.buf[:0], object.Bytes...)
				if w.buf = object.Bytes; cap(w.buf) > usualBuffer {
					w.buf = nil
				}
			}
		default:
			if err := w.s.skip(); err != nil {
				return 0, Raw{}, err
			}
		}
	}
	if object.Bytes == nil {
		object = Raw{Kind: w.kind, Encoding: JSON, Bytes: []byte("null")}
	}
	return w.event(w.name, object)
}

func (w *jsonWatch) event(name []byte, raw Raw) (EventType, Raw, error) {
	t, err := eventType(name)
	if err != nil {
		return 0, Raw{}, err
	}
	if t != Error {
		_, err := raw.foreign()
		return t, raw, err
	}
	var is struct{ APIVersion, Kind string }
	if err := json.Unmarshal(raw.Bytes, &is); err != nil {
		return 0, Raw{}, w.s.syntax(err)
	}
	if !isStatus(is.APIVersion, is.Kind) {
		return 0, Raw{}, &KindError{Want: w.kind.GVK, Got: schema.FromAPIVersionAndKind(is.APIVersion, is.Kind)}
	}
	return t, raw, nil
}
