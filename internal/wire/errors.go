package wire

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// DecodeError says that one object cannot be used. It concerns that object only: after [List.Next]
// or [Watch.Next] returned it, the stream may be read on.
type DecodeError struct {
	// Kind is the kind that was expected.
	Kind schema.GroupVersionKind
	// Key is what could be learned of the object's key; it may be empty or partial.
	Key object.Key
	// Field is the path of the field that is wrong, such as "metadata.labels"; it may be empty.
	Field string
	// Err is the cause. It is a *[KindError] when the object is of another kind.
	Err error
}

func (e *DecodeError) Error() string {
	s := "wire: decode " + e.Kind.Kind
	if k := e.Key.String(); k != "" {
		s += " " + strconv.Quote(k)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Err.Error()
}

func (e *DecodeError) Unwrap() error { return e.Err }

// IsObjectError reports whether the error concerns one object only: it is a [DecodeError], or wraps one.
func IsObjectError(err error) bool {
	_, ok := errors.AsType[*DecodeError](err)
	return ok
}

// KindError says that something of another kind came than was asked for. It may be one object, inside
// a *[DecodeError], or a whole answer, such as a Table instead of a list.
type KindError struct {
	Want schema.GroupVersionKind
	// Got is empty where the answer did not say its kind.
	Got schema.GroupVersionKind
}

func (e *KindError) Error() string {
	if e.Got.Kind == "" {
		return "wire: want " + kindName(e.Want) + ", got an object that does not say its kind"
	}
	return "wire: want " + kindName(e.Want) + ", got " + kindName(e.Got)
}

// TypeError says that a Go type cannot hold a kind. The type belongs to another kind, it is a nil
// pointer, or it has no protobuf form although the bytes are protobuf.
type TypeError struct {
	Kind   schema.GroupVersionKind
	Type   reflect.Type // nil for an untyped nil
	Reason string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("wire: %v cannot hold %s: %s", e.Type, kindName(e.Kind), e.Reason)
}

// SyntaxError says that what came is no list, watch or object at all: the bytes break the
// encoding. The place in a stream is lost, nothing more can be read from it.
type SyntaxError struct {
	Encoding Encoding
	// Offset counts bytes from the start of the body to about where it went wrong.
	Offset int64
	// Err is the reason.
	Err error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("wire: %v garbage at byte %d: %v", e.Encoding, e.Offset, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// TruncatedError says that the body ended in the middle of something; the part was dropped. It
// wraps [io.ErrUnexpectedEOF].
type TruncatedError struct {
	// Offset is the length of the body, in bytes.
	Offset int64
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("wire: body cut at byte %d", e.Offset)
}

func (e *TruncatedError) Unwrap() error { return io.ErrUnexpectedEOF }

// TooLargeError says that one object or frame is larger than [Limits] allows. It was not read.
type TooLargeError struct {
	// Size in bytes, as far as it is known; it is above Limit.
	Size, Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("wire: frame of %d bytes or more, limit is %d", e.Size, e.Limit)
}

// ContentTypeError says that an answer is in no form that can be read: often a page of a proxy.
type ContentTypeError struct {
	// ContentType is the header as it came.
	ContentType string
	// Excerpt is the start of the body, for a person to read; it may be empty.
	Excerpt string
}

func (e *ContentTypeError) Error() string {
	s := "wire: cannot read content type " + strconv.Quote(e.ContentType)
	if e.Excerpt != "" {
		s += ", body starts " + strconv.Quote(e.Excerpt)
	}
	return s
}

// StatusError carries the Status that came where a list or an object was asked for.
type StatusError struct {
	Status metav1.Status
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("wire: got a Status: %s %d %s", e.Status.Reason, e.Status.Code, e.Status.Message)
}

// EventTypeError says that a watch event is of a type that is not known.
type EventTypeError struct {
	Type string
}

func (e *EventTypeError) Error() string {
	return "wire: unknown watch event type " + strconv.Quote(e.Type)
}

// PathError says why a field path cannot be compiled.
type PathError struct {
	Path string
	// Segment is the part that is wrong; it may be empty if the path as a whole is.
	Segment string
	Reason  string
}

func (e *PathError) Error() string {
	s := "wire: field path " + strconv.Quote(e.Path)
	if e.Segment != "" {
		s += ", at " + strconv.Quote(e.Segment)
	}
	return s + ": " + e.Reason
}

// kindName is "group/version, Kind" with the group left out where it is empty.
func kindName(gvk schema.GroupVersionKind) string {
	return gvk.GroupVersion().String() + " " + gvk.Kind
}
