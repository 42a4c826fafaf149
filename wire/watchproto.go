package wire

import (
	"encoding/binary"
	"io"
)

// protoWatch reads frames: four bytes of length, the highest first, and a
// metav1.WatchEvent{type = 1, object = 2}. The object is a runtime.RawExtension{raw = 1}, and raw
// an object in its envelope.
type protoWatch struct {
	s    protoStream
	kind *Kind
}

func (w *protoWatch) next() (EventType, Raw, error) {
	switch err := w.s.need(4); {
	case err == io.EOF && w.s.held() == 0:
		return 0, Raw{}, err
	case err != nil:
		return 0, Raw{}, w.s.cut(err)
	}
	size := int64(binary.BigEndian.Uint32(w.s.take(4)))
	start := w.s.offset()
	frame, err := w.s.lend(size)
	if err != nil {
		return 0, Raw{}, err
	}
	t, raw, err := w.event(frame)
	if bad, ok := err.(badFrame); ok {
		err = &SyntaxError{Encoding: Protobuf, Offset: start, Err: bad.error}
	}
	return t, raw, err
}

// badFrame marks the errors of a frame that is garbage.
type badFrame struct{ error }

func (w *protoWatch) event(frame []byte) (EventType, Raw, error) {
	var name, extension []byte
	c := cursor{b: frame}
	for c.next() {
		switch c.num {
		case 1:
			name = c.bytes()
		case 2:
			extension = c.bytes()
		}
	}
	if c.err != nil {
		return 0, Raw{}, badFrame{c.err}
	}
	t, err := eventType(name)
	if err != nil {
		return 0, Raw{}, err
	}
	var e envelope
	object, _, err := embedded(extension, 1)
	if err == nil {
		e, err = openEnvelope(object)
	}
	switch {
	case err != nil && t == Error:
		return 0, Raw{}, badFrame{err}
	case err != nil:
		return t, Raw{}, Raw{Kind: w.kind, Encoding: Protobuf}.failed("", err)
	}
	raw := Raw{Kind: w.kind, Encoding: Protobuf, Bytes: e.raw}
	want := t == Error && isStatus(string(e.apiVersion), string(e.kind)) ||
		t != Error && w.kind.is(string(e.apiVersion), string(e.kind))
	if !want {
		wrong := &KindError{Want: w.kind.GVK, Got: e.gvk()}
		if t == Error {
			return 0, Raw{}, wrong
		}
		return t, Raw{}, raw.failed("", wrong)
	}
	return t, raw, nil
}
