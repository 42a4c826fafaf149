package wire

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// jsonWatch reads JSON values one after the other, each with the members type and object.
type jsonWatch struct {
	s      *jsonStream
	kind   *Kind
	state  streamState
	member []byte // the name of the member whose value is next
	name   []byte // of the type
	object Raw
	buf    []byte // copy of an object that is not the last member
}

// streamState is the token that comes next.
type streamState uint8

const (
	comesStart   streamState = iota
	comesMember              // of the frame or list, or its end
	comesName                // of a member
	comesValue               // of a member
	comesElement             // of the items of a list, or their end
	comesItem                // an item of a list
	comesEnd                 // nothing
)

func (w *jsonWatch) ready() (err error) {
	for err == nil {
		switch w.state {
		case comesStart:
			if c, err := w.s.peek(); err != nil {
				return err
			} else if c != '{' {
				return w.s.syntax(errNotObject)
			}
			err = w.s.open('{')
			w.object, w.name, w.state = Raw{}, w.name[:0], comesMember
		case comesMember:
			more, err := w.s.next('}')
			if err != nil {
				return err
			}
			if !more {
				w.state = comesStart
				return nil
			}
			w.state = comesName
		case comesName:
			var member []byte
			if member, err = w.s.name(); err == nil {
				w.member, w.state = append(w.member[:0], member...), comesValue
			}
		case comesValue:
			if err = w.value(); err == nil {
				w.state = comesMember
			}
		}
	}
	return err
}

// value reads the value of a member.
func (w *jsonWatch) value() (err error) {
	switch string(w.member) {
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
