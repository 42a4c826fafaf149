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
	// Object is what was added, modified or deleted. Its bytes are lent, until the next call of Next:
	// to keep them, see [Raw.Clone]. It is empty for Error.
	Object Raw
	// Status says why the server ends the watch. It is set for Error only.
	Status *metav1.Status
	// ResourceVersion is set for Bookmark only, where it is never empty.
	ResourceVersion string
	// InitialEventsEnd marks the bookmark after which the watch has sent all that was there when it
	// began (a streaming list).
	InitialEventsEnd bool
}

// Watch splits the body of a watch into its events, as they arrive. It is used by one goroutine;
// only Close may be called from another, which ends a Next that waits.
type Watch struct {
	body   io.Closer
	events eventReader
	read   *window // of events
	kind   *Kind
	err    error // sticky
}

// eventReader is a watch of one encoding. It returns the type and the object of the next event; the
// object is a Status for Error. A *DecodeError comes with the type.
type eventReader interface {
	next() (EventType, Raw, error)
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
	w := &Watch{body: body, kind: kind}
	if enc == Protobuf {
		events := &protoWatch{s: newProtoStream(body, lim), kind: kind}
		w.events, w.read = events, &events.s.window
	} else {
		events := &jsonWatch{s: newJSONStream(body, lim), kind: kind}
		w.events, w.read = events, &events.s.window
	}
	return w, nil
}

// Next returns the next event. It returns as soon as the last byte of the event is there, and
// blocks on the body only.
//
// The error is [io.EOF] where the body ends between two events. A *[DecodeError] concerns one
// event (an object of another kind, a bookmark without a version): the frame then has only its
// type, and Next may be called on. Every other error is final; see the package comment. Objects
// whose metadata is bad are returned; [Raw.Header] says what is wrong.
func (w *Watch) Next() (Frame, error) {
	if w.err != nil {
		return Frame{}, w.err
	}
	f, err := w.frame()
	if err != nil && !concernsOne(err) {
		w.err = err
		return Frame{}, err
	}
	return f, err
}

// BeforeRead has Next call f each time before it reads the body: what f does is not held up by the wait
// for what comes next. It is called by the goroutine of Next.
func (w *Watch) BeforeRead(f func()) { w.read.before = f }

// Close closes the body. It may be called twice.
func (w *Watch) Close() error { return w.body.Close() }

func (w *Watch) frame() (Frame, error) {
	t, raw, err := w.events.next()
	if err != nil {
		return Frame{Type: t}, err
	}
	switch t {
	case Error:
		status := (*StatusError)(nil)
		if err := statusError(raw.Bytes, raw.Encoding); !errors.As(err, &status) {
			return Frame{}, err
		}
		return Frame{Type: t, Status: &status.Status}, nil
	case Bookmark:
		h, _, field, err := raw.scan(false)
		if err == nil && h.ResourceVersion == "" {
			field, err = "metadata.resourceVersion", errors.New("bookmark without a version")
		}
		if err != nil {
			return Frame{Type: t}, raw.decodeError(h.Key, field, err)
		}
		end := h.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		w.read.calm() // it is sent where there is nothing else, and behind a list
		return Frame{Type: t, Object: raw, ResourceVersion: h.ResourceVersion, InitialEventsEnd: end}, nil
	}
	return Frame{Type: t, Object: raw}, nil
}
