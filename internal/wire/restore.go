package wire

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/object"
)

// Partial reports whether any object that was decoded into the Go type of o so far had fields that
// the type does not have; see [decode.Partial].
func Partial(o runtime.Object) bool {
	t := reflect.TypeOf(o)
	return t != nil && t.Kind() == reflect.Pointer && decode.Partial(t.Elem())
}

// Unknown reports whether the object has fields that the Go type of o does not have.
func (r Raw) Unknown(o runtime.Object) (bool, error) {
	t := reflect.TypeOf(o)
	if t == nil || t.Kind() != reflect.Pointer {
		return false, r.wrongType(o, "it is no pointer to a value")
	}
	switch r.Encoding {
	case JSON:
		return decode.UnknownJSON(t.Elem(), r.Bytes)
	case Protobuf:
		return decode.UnknownProtobuf(t.Elem(), r.Bytes)
	}
	return false, errEncoding
}

// Restore adds to body the fields that the object had when it was read, and that its Go type does not have. body
// is obj, encoded by [Encode] in the encoding of read. read is the version that the caller decoded and changed.
// The fields of the Go type stay as they are in body. [decode.RestoreJSON] says where the other fields go. If
// their place is ambiguous, the error is a *[decode.PlaceError].
//
// Without such fields the result is body itself.
func Restore(body []byte, obj object.Object, read Raw) ([]byte, error) {
	switch more, err := read.Unknown(obj); {
	case err != nil:
		return nil, err
	case !more:
		return body, nil
	}
	known := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(object.Object)
	if err := read.Decode(known); err != nil {
		return nil, err
	}
	encoded, _, err := Encode(known, read.Kind.GVK, read.Encoding)
	if err != nil {
		return nil, err
	}
	t := reflect.TypeOf(obj).Elem()
	if read.Encoding == JSON {
		return decode.RestoreJSON(t, decode.Versions{Read: read.Bytes, Known: encoded, Sent: body})
	}
	from, err := openEnvelope(encoded)
	if err != nil {
		return nil, err
	}
	to, err := openEnvelope(body)
	if err != nil {
		return nil, fmt.Errorf("wire: what is sent: %w", err)
	}
	content, err := decode.RestoreProtobuf(t, decode.Versions{Read: read.Bytes, Known: from.raw, Sent: to.raw})
	if err != nil {
		return nil, err
	}
	apiVersion, kind := string(to.apiVersion), string(to.kind)
	out := make([]byte, 0, envelopeSize(apiVersion, kind, len(content)))
	out = append(appendEnvelope(out, apiVersion, kind, len(content)), content...)
	return envelopeTail(out), nil
}
