package wire

import (
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EventType is what a watch event says about its object.
type EventType uint8

const (
	Added EventType = iota + 1
	Modified
	Deleted
	// Bookmark carries no object, only the version up to which all events have been sent.
	Bookmark
	// Error ends the watch, for the reason in Frame.Status.
	Error
)

var eventTypes = [...]string{Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Bookmark: "BOOKMARK", Error: "ERROR"}

// String is the name of the type on the wire.
func (t EventType) String() string {
	if t == 0 || int(t) >= len(eventTypes) {
		return "unknown event type"
	}
	return eventTypes[t]
}

func eventType(name []byte) (EventType, error) {
	for t, s := range eventTypes {
		if t != 0 && s == string(name) {
			return EventType(t), nil
		}
	}
	return 0, &EventTypeError{Type: string(name)}
}

// Frame is one watch event.
type Frame struct {
	Type EventType
	// Object is what was added, modified or deleted. Its bytes are lent, until the next Take or
	// Fill: to keep them, see [Raw.Clone]. It is empty for Error.
	Object Raw
	// Status says why the server ends the watch. It is set for Error only.
	Status *metav1.Status
	// ResourceVersion is set for Bookmark only, where it is never empty.
	ResourceVersion string
	// InitialEventsEnd marks the bookmark after which the watch has sent all that was there when it
	// began (a streaming list).
	InitialEventsEnd bool
}

// Watch is the body of a watch, and a parser that splits it into its events. Take returns what is
// complete, Fill reads. It is for one goroutine; Close may be called from another, and ends a Fill.
type Watch struct {
	body   io.ReadCloser
	events eventReader
	read   *window // of events
	err    error   // of Take; it stays
}

// eventReader is a watch of one encoding. ready reads the next event up to its end. event returns the
// type and the object of that event; the object is a Status for Error. A *DecodeError comes with the type.
type eventReader interface {
	ready() error
	event() (EventType, Raw, error)
}

// NewWatch reads the body of a watch of this kind. The body belongs to the Watch, also after an
// error, when it has been closed. A content type that is neither JSON nor protobuf is a
// *[ContentTypeError].
//
// NewWatch itself reads only the start of a body that it refuses.
func NewWatch(body io.ReadCloser, contentType string, kind *Kind, lim Limits) (*Watch, error) {
	enc, _, err := ParseContentType(contentType)
	if err != nil {
		return nil, wrongContent(contentType, body)
	}
	w := &Watch{body: body}
	if enc == Protobuf {
		events := &protoWatch{protoStream: newProtoStream(lim), kind: kind}
		w.events, w.read = events, &events.window
	} else {
		events := &jsonWatch{s: newJSONStream(lim), kind: kind}
		w.events, w.read = events, &events.s.window
	}
	return w, nil
}

// Take returns the next event, or ErrIncomplete if it is not complete yet. An event is complete with its last
// byte. Take reads nothing.
//
// The error is [io.EOF] where the body ends between two events. A *[DecodeError] concerns one
// event (an object of another kind, a bookmark without a version): the frame then has only its
// type, and Take may be called on. Every other error is final; see the package comment. Objects
// whose metadata is bad are returned; [Raw.Header] says what is wrong.
func (w *Watch) Take() (Frame, error) {
	if !w.ready() {
		return Frame{}, ErrIncomplete
	}
	return w.frame()
}

// ready reports whether an event is complete, or the error that ends the watch is known.
func (w *Watch) ready() bool {
	if w.err == nil {
		err := w.events.ready()
		if err == ErrIncomplete {
			return false
		}
		w.err = err
	}
	return true
}

// Fill reads the body once, and blocks until something comes. Take returns what goes wrong.
func (w *Watch) Fill() { w.read.fill(w.body) }

// Next takes the next event, and fills until it is complete.
func (w *Watch) Next() (Frame, error) {
	for !w.ready() {
		w.Fill()
	}
	return w.frame()
}

// Close closes the body. It may be called twice.
func (w *Watch) Close() error { return w.body.Close() }

// frame is the event that is ready.
func (w *Watch) frame() (f Frame, err error) {
	if w.err != nil {
		return f, w.err
	}
	if f.Type, f.Object, err = w.events.event(); err == nil {
		err = w.complete(&f)
	}
	if err != nil {
		f = Frame{Type: f.Type}
		if !IsObjectError(err) {
			f.Type, w.err = 0, err
		}
	}
	return f, err
}

// complete sets what a frame has besides an object.
func (w *Watch) complete(f *Frame) error {
	switch raw := &f.Object; f.Type {
	case Error:
		status := (*StatusError)(nil)
		if err := statusError(raw.Bytes, raw.Encoding); !errors.As(err, &status) {
			return err
		}
		f.Object, f.Status = Raw{}, &status.Status
	case Bookmark:
		h, _, field, err := raw.scan(false)
		if err == nil && h.ResourceVersion == "" {
			field, err = "metadata.resourceVersion", errors.New("bookmark without a version")
		}
		if err != nil {
			return raw.decodeError(h.Key, field, err)
		}
		f.ResourceVersion = h.ResourceVersion
		f.InitialEventsEnd = h.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		w.read.calm() // servers send it to a quiet watch, and behind a list
	}
	return nil
}
