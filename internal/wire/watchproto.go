package wire

import (
	"encoding/binary"

	"github.com/flyball-io/flyball/internal/protoscan"
)

// protoWatch reads frames: four bytes of length, the highest first, and a
// metav1.WatchEvent{type = 1, object = 2}. The object is a runtime.RawExtension{raw = 1}, and raw
// an object in its envelope.
type protoWatch struct {
	protoStream
	kind    *Kind
	size    int64 // of the frame, after its length was read
	inFrame bool
	frame   []byte // the complete frame
}

func (w *protoWatch) ready() (err error) {
	if !w.inFrame {
		if w.held() < 4 {
			err := w.more(4)
			if w.held() > 0 {
				err = w.cut(err)
			}
			return err
		}
		w.size, w.inFrame = int64(binary.BigEndian.Uint32(w.take(4))), true
	}
	w.frame, err = w.bytes(w.size)
	w.inFrame = err == ErrIncomplete
	return err
}

func (w *protoWatch) event() (EventType, Raw, error) {
	t, raw, err := w.parse(w.frame)
	w.frame = nil // it keeps the buffer of a list
	if bad, ok := err.(badFrame); ok {
		err = &SyntaxError{Encoding: Protobuf, Offset: w.offset() - w.size, Err: bad.error}
	}
	return t, raw, err
}

// badFrame wraps the error of an invalid frame.
type badFrame struct{ error }

func (w *protoWatch) parse(frame []byte) (EventType, Raw, error) {
	var name, extension []byte
	c := protoscan.Cursor{B: frame}
	for c.Next() {
		switch c.Num {
		case 1:
			name = c.Bytes()
		case 2:
			extension = c.Bytes()
		}
	}
	if c.Err != nil {
		return 0, Raw{}, badFrame{c.Err}
	}
	t, err := eventType(name)
	if err != nil {
		return 0, Raw{}, err
	}
	var e envelope
	object, _, err := protoscan.Embedded(extension, 1)
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
