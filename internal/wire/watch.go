package wire

import (
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EventType is the type of a watch event.
type EventType uint8

const (
	Added EventType = iota + 1
	Modified
	Deleted
	// Bookmark has no object, only a version. All events up to it have been sent.
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
	// Object is the object that was added, modified or deleted. Its bytes are valid until the next Take or
	// Fill; [Raw.Clone] copies them. It is empty for Error.
	Object Raw
	// Status is the reason for which the server ends the watch. It is set for Error only.
	Status *metav1.Status
	// ResourceVersion is set for Bookmark only. There it is never empty.
	ResourceVersion string
	// InitialEventsEnd marks the bookmark at the end of a streaming list: all objects of the list have been
	// sent.
	InitialEventsEnd bool
}

// Watch splits the body of a watch into its events. Take returns complete events, and Fill reads. A Watch is for
// one goroutine. Close may be called from another one, and ends a Fill.
type Watch struct {
	source
	events eventReader
	err    error // the final error of Take
}

// source is a body that is read into the window of its parser.
type source struct {
	body io.ReadCloser
	read *window
}

// Fill reads the body once, and blocks until bytes come. Take returns its error.
func (s *source) Fill() { s.read.fill(s.body) }

// Close closes the body. It may be called twice.
func (s *source) Close() error { return s.body.Close() }

// eventReader is a watch of one encoding. ready reads the next event up to its end. event returns the
// type and the object of that event; the object is a Status for Error. A *DecodeError comes with the type.
type eventReader interface {
	ready() error
	event() (EventType, Raw, error)
}

// NewWatch returns a Watch that reads a body of this kind. The Watch owns the body; NewWatch closes it on an
// error. A content type that is neither JSON nor protobuf is a *[ContentTypeError].
//
// NewWatch reads nothing, except the start of a body that it refuses.
func NewWatch(body io.ReadCloser, contentType string, kind *Kind, lim Limits) (*Watch, error) {
	enc, _, err := ParseContentType(contentType)
	if err != nil {
		return nil, wrongContent(contentType, body)
	}
	w := &Watch{source: source{body: body}}
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
// The error is [io.EOF] if the body ends between two events. A *[DecodeError] concerns one event, such as one
// with an object of another kind, or a bookmark without a version. The frame then has only its type, and further
// calls of Take return the next events. Every other error is final; see the package comment. Objects with bad
// metadata are returned; [Raw.Header] returns the error.
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

// Next returns the next event. It calls Fill until the event is complete.
func (w *Watch) Next() (Frame, error) {
	for !w.ready() {
		w.Fill()
	}
	return w.frame()
}

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
		w.read.release() // servers send bookmarks on an idle watch, and after a list
	}
	return nil
}
