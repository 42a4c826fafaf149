package wire

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// jsonWatch reads JSON values one after the other, each with the members type and object.
type jsonWatch struct {
	s      *jsonStream
	kind   *Kind
	name   []byte // of the type
	object Raw
	buf    []byte // copy of an object that is not the last member
}

func (w *jsonWatch) ready() error {
	for {
		more, err := w.s.member()
		if err != nil || !more {
			return err
		}
		if err := w.value(); err != nil {
			return err
		}
		w.s.inMember = false
	}
}

// value reads the value of a member.
func (w *jsonWatch) value() (err error) {
	switch string(w.s.key) {
	case "type":
		v, err := w.s.value()
		if err != nil {
			return err
		}
		if v.Kind() != '"' {
			return w.s.syntax(errors.New("type: want a string, got " + jsonscan.KindName(v[0])))
		}
		w.name = append(w.name[:0], jsonscan.Unquote(v)...)
	case "object":
		if w.object, err = w.s.object(w.kind); err != nil {
			return err
		}
		if !w.s.has('}') { // the next fill overwrites the buffer
			w.object.Bytes = append(w.buf[:0], w.object.Bytes...)
			if w.buf = w.object.Bytes; cap(w.buf) > usualBuffer {
				w.buf = nil
			}
		}
	default:
		return w.s.skip()
	}
	return nil
}

func (w *jsonWatch) event() (EventType, Raw, error) {
	raw := w.object
	w.object = Raw{} // it keeps the buffer of a list
	if raw.Bytes == nil {
		raw = Raw{Kind: w.kind, Encoding: JSON, Bytes: []byte("null")}
	}
	t, err := eventType(w.name)
	w.name = w.name[:0]
	if err != nil {
		return 0, Raw{}, err
	}
	if t != Error {
		_, err := raw.foreign()
		return t, raw, err
	}
	apiVersion, kind, err := raw.typeOf()
	if err != nil {
		return 0, Raw{}, w.s.syntax(err)
	}
	if !isStatus(apiVersion, kind) {
		return 0, Raw{}, &KindError{Want: w.kind.GVK, Got: schema.FromAPIVersionAndKind(apiVersion, kind)}
	}
	return t, raw, nil
}
