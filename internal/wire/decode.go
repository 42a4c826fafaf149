package wire

import (
	"bytes"
	"errors"
	"reflect"
	"sync"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/protoscan"
	"github.com/flyball-io/flyball/object"
)

var errNoKind = errors.New("the object has no kind")

// message is what the generated code of a type with a protobuf form offers.
type message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
	Unmarshal([]byte) error
}

// Decode writes the object into a value of the caller's, replacing all that was in it. Afterwards
// the caller owns everything: nothing is shared with the bytes.
//
// into is the Go type of the kind, *unstructured.Unstructured or *metav1.PartialObjectMetadata.
// Its apiVersion and kind are set to those of the kind, even if the server omitted them: owner references,
// events and logs need them.
//
// Protobuf is decoded into an unstructured object by way of the Go type in the scheme of the kind. Into
// PartialObjectMetadata only the metadata is decoded.
//
// A Go type that cannot hold the kind is a *[TypeError], and a bad object is a *[DecodeError]. After an error the
// content of into is undefined.
func (r Raw) Decode(into object.Object) error { return r.decode(into, false) }

// DecodeOwned is [Raw.Decode] for bytes that nobody else uses. Long strings of into are parts of the bytes, which saves
// a copy. Neither the bytes nor r may be used after the call, even after an error, if there are more than SmallObject.
//
// A string of the object that the caller keeps, such as its name, keeps at most 192 bytes alive, or eight times its own
// length.
func (r Raw) DecodeOwned(into object.Object) error { return r.decode(into, true) }

func (r Raw) decode(into object.Object, owned bool) error {
	if v := reflect.ValueOf(into); !v.IsValid() || v.Kind() != reflect.Pointer || v.IsNil() {
		return r.wrongType(into, "it is no pointer to a value")
	}
	if r.Kind == nil {
		return r.failed("", errNoKind)
	}
	d := copying
	if owned {
		d = owning
	}
	var err error
	switch r.Encoding {
	case JSON:
		err = r.decodeJSON(into, d)
	case Protobuf:
		err = r.decodeProtobuf(into, d)
	default:
		err = errEncoding
	}
	if err == nil {
		into.GetObjectKind().SetGroupVersionKind(r.Kind.GVK)
		return nil
	}
	if wrong, ok := errors.AsType[*TypeError](err); ok {
		return wrong
	}
	return r.failed("", err)
}

// SmallObject is the size in bytes up to which an object keeps no part of the bytes that it is decoded from.
const SmallObject = decode.SmallDocument

// decoders are the functions that read the two encodings.
type decoders struct {
	json, protobuf func(b []byte, into any) error
}

var (
	copying = &decoders{decode.JSON, decode.Protobuf}
	owning  = &decoders{decode.JSONOwned, decode.ProtobufOwned}
)

func (r Raw) decodeJSON(into object.Object, d *decoders) error {
	var err error
	switch into := into.(type) {
	case *unstructured.Unstructured:
		into.Object = nil
		err = d.unmarshalJSON(r.Bytes, &into.Object)
	case *metav1.PartialObjectMetadata:
		*into = metav1.PartialObjectMetadata{}
		err = copying.unmarshalJSON(r.Bytes, into) // a small part: it need not keep the rest
	default:
		if err = r.emptyTyped(into); err == nil {
			err = d.unmarshalJSON(r.Bytes, into)
		}
	}
	if err != nil {
		return err
	}
	return r.checkKind(into)
}

func (r Raw) decodeProtobuf(into object.Object, d *decoders) error {
	switch into := into.(type) {
	case *unstructured.Unstructured:
		t := r.Kind.GoType()
		if r.Kind.MetadataOnly {
			t = reflect.TypeFor[metav1.PartialObjectMetadata]()
		}
		if t == nil {
			return r.wrongType(into, "protobuf is read through the Go type of the kind, and the scheme has none")
		}
		typed := reflect.New(t).Interface()
		if err := r.unmarshalProtobuf(typed, d); err != nil {
			return err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err == nil {
			into.Object = content
		}
		return err
	case *metav1.PartialObjectMetadata:
		*into = metav1.PartialObjectMetadata{}
		meta, _, err := protoscan.Embedded(r.Bytes, metaField)
		if err != nil {
			return err
		}
		return decode.Protobuf(meta, &into.ObjectMeta)
	}
	if err := r.emptyTyped(into); err != nil {
		return err
	}
	return r.unmarshalProtobuf(into, d)
}

// emptyTyped makes a typed object zero, if it can hold the kind.
func (r Raw) emptyTyped(into object.Object) error {
	v := reflect.ValueOf(into).Elem()
	if reason := r.mismatch(v.Type()); reason != "" {
		return r.wrongType(into, reason)
	}
	v.SetZero()
	return nil
}

func (r Raw) unmarshalProtobuf(into any, d *decoders) error {
	if _, ok := into.(message); !ok || !protobufType(reflect.TypeOf(into).Elem()) {
		return r.wrongType(into, "it has no protobuf form")
	}
	return d.protobuf(r.Bytes, into)
}

// checkKind refuses an object that says it is of another kind. Items of a list may say nothing.
func (r Raw) checkKind(o runtime.Object) error {
	apiVersion, kind := o.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	if apiVersion == "" && kind == "" || r.Kind.is(apiVersion, kind) {
		return nil
	}
	return &KindError{Want: r.Kind.GVK, Got: schema.FromAPIVersionAndKind(apiVersion, kind)}
}

// mismatch says why t is not the Go type of the kind, if it is not.
func (r Raw) mismatch(t reflect.Type) string {
	if r.Kind.MetadataOnly {
		return "only the metadata was asked for"
	}
	if known := r.Kind.GoType(); known != nil {
		if known != t {
			return "the scheme has " + known.String() + " for it"
		}
		return ""
	}
	if s := r.Kind.Scheme; s != nil {
		if obj, ok := reflect.New(t).Interface().(runtime.Object); ok {
			if kinds, _, err := s.ObjectKinds(obj); err == nil && len(kinds) > 0 {
				return "the scheme has it for " + kindName(kinds[0])
			}
		}
	}
	if r.Encoding == Protobuf && t.Name() != r.Kind.GVK.Kind {
		return "protobuf does not say its kind, and the name of the type is another"
	}
	return ""
}

func (r Raw) wrongType(into any, reason string) *TypeError {
	e := &TypeError{Type: reflect.TypeOf(into), Reason: reason}
	if r.Kind != nil {
		e.Kind = r.Kind.GVK
	}
	return e
}

// unmarshalJSON decodes as apimachinery does: case-sensitive, whole numbers stay whole, fields
// that the type does not have are passed over.
func (d *decoders) unmarshalJSON(b []byte, into any) error {
	if !utf8.Valid(b) {
		return errUTF8
	}
	if start := bytes.TrimLeft(b, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return errNotObject
	}
	return d.json(b, into)
}

// HasProtobuf reports whether a Go type has a protobuf form: its own generated methods and
// protobuf field tags. A custom resource that embeds metav1.ObjectMeta has neither, although it
// may inherit the methods. A nil type has none.
func HasProtobuf(t reflect.Type) bool {
	if t == nil {
		return false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(reflect.TypeFor[message]()) && protobufType(t)
}

// protobufTypes are the answers of protobufType that are known.
var protobufTypes sync.Map

// protobufType reports whether the metadata of an object type carries a protobuf tag.
func protobufType(t reflect.Type) bool {
	is, known := protobufTypes.Load(t)
	if !known {
		is, _ = protobufTypes.LoadOrStore(t, hasProtobufTag(t))
	}
	return is.(bool)
}

func hasProtobufTag(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	f, ok := t.FieldByName("ObjectMeta")
	if !ok {
		f, ok = t.FieldByName("ListMeta")
	}
	return ok && f.Tag.Get("protobuf") != "" && len(f.Index) == 1
}
