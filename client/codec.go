package client

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// form is the way a Go type holds an object.
type form uint8

const (
	typed form = iota
	unstructuredForm
	metadataForm
)

func formOf(o object.Object) form {
	switch o.(type) {
	case *unstructured.Unstructured:
		return unstructuredForm
	case *metav1.PartialObjectMetadata:
		return metadataForm
	}
	return typed
}

// kindOf returns the kind of an object. For a typed object it is that of the Go type, and the object's
// apiVersion and kind must agree if they are set. For the other forms it is the object's apiVersion and
// kind. asked stands in for an object that names no kind, and must agree with one that does. The error
// wraps an *object.UnknownKindError.
func kindOf(verb string, s *runtime.Scheme, o object.Object, asked schema.GroupVersionKind) (schema.GroupVersionKind, error) {
	fail := func(err error) (schema.GroupVersionKind, error) {
		return schema.GroupVersionKind{}, fmt.Errorf("%s: %w", verb, &object.UnknownKindError{Type: fmt.Sprintf("%T", o), Err: err})
	}
	if isNil(o) {
		return fail(errNilObject)
	}
	gvk := o.GetObjectKind().GroupVersionKind()
	switch {
	case gvk.Empty():
		gvk = asked
	case !asked.Empty() && asked != gvk:
		return fail(fmt.Errorf("it says it is %v, %v was asked for", gvk, asked))
	}
	if formOf(o) != typed {
		if gvk.Kind == "" || gvk.Version == "" {
			return fail(errors.New("it does not say its apiVersion and kind"))
		}
		return gvk, nil
	}
	kinds, _, err := s.ObjectKinds(o)
	switch {
	case err != nil:
		return fail(err)
	case gvk.Empty() && len(kinds) == 1:
		return kinds[0], nil
	case gvk.Empty():
		return fail(fmt.Errorf("the scheme has it for several kinds, %v, and it does not say which", kinds))
	case !slices.Contains(kinds, gvk):
		return fail(fmt.Errorf("it says it is %v, the scheme has it for %v", gvk, kinds))
	}
	return gvk, nil
}

// readObject reads the answer to a request for one object. said is not nil if the answer is a Status that
// reports success. One that reports a failure does not fit the code of the answer: no API server sent it.
func readObject(call Call, kind *wire.Kind, resp *http.Response) (raw wire.Raw, said *metav1.Status, err error) {
	defer resp.Body.Close()
	data, err := wire.ReadObject(resp.Body, wire.Limits{})
	bad := func(err error) (wire.Raw, *metav1.Status, error) {
		return wire.Raw{}, nil, badAnswer(call, resp, err)
	}
	if large, is := errors.AsType[*wire.TooLargeError](err); is {
		return bad(large)
	}
	if err != nil {
		return wire.Raw{}, nil, err
	}
	raw, err = wire.ParseObject(data, resp.Header.Get("Content-Type"), kind)
	if s, is := errors.AsType[*wire.StatusError](err); is {
		if s.Status.Status == metav1.StatusSuccess {
			return wire.Raw{}, &s.Status, nil
		}
		return bad(fmt.Errorf("a Status of a failure with the code %d: %s", resp.StatusCode, s.Status.Message))
	}
	if err != nil {
		return bad(err)
	}
	return raw, nil, nil
}

// badAnswer makes a *ResponseError. It has an excerpt only of a body that is in no API encoding: other
// bodies may hold a secret.
func badAnswer(call Call, resp *http.Response, cause error) error {
	e := &ResponseError{RequestError: local(call, metav1.StatusReasonUnknown, http.StatusOK, cause), ContentType: resp.Header.Get("Content-Type")}
	if ct, ok := errors.AsType[*wire.ContentTypeError](cause); ok {
		e.Excerpt = ct.Excerpt
	}
	return e
}

// encodingFor is the encoding in which an object is sent: protobuf if its Go type has it, else JSON.
func encodingFor(o object.Object) wire.Encoding {
	if wire.HasProtobuf(reflect.TypeOf(o)) && formOf(o) == typed {
		return wire.Protobuf
	}
	return wire.JSON
}

// accept is the Accept header of a request for objects of a kind: in enc if the server has it, else in
// JSON. plain is for a server that has refused protobuf.
func accept(kind *wire.Kind, enc wire.Encoding, verb string, plain bool) string {
	header := wire.AcceptJSON
	switch {
	case kind.MetadataOnly && verb == verbList:
		header = wire.AcceptMetadataList
	case kind.MetadataOnly:
		header = wire.AcceptMetadata
	case enc == wire.Protobuf:
		header = wire.AcceptProtobuf
	}
	if plain {
		header = header[strings.LastIndexByte(header, ',')+1:]
	}
	return header
}

// newLike returns a new value of o's type.
func newLike(o object.Object) object.Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(object.Object)
}
