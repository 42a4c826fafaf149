package wire

import (
	"bytes"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Encode encodes an object as the body of a request, and returns its content type. It writes gvk as the apiVersion and
// kind, which typed objects often omit, and does not change the object. An object that names another kind is a
// *[KindError].
//
// Protobuf is for types that satisfy [HasProtobuf]; any other is a *[TypeError].
func Encode(obj runtime.Object, gvk schema.GroupVersionKind, enc Encoding) (body []byte, contentType string, err error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, "", &TypeError{Kind: gvk, Type: reflect.TypeOf(obj), Reason: "it is no pointer to a value"}
	}
	if has := obj.GetObjectKind().GroupVersionKind(); !has.Empty() && has != gvk {
		return nil, "", &KindError{Want: gvk, Got: has}
	}
	switch enc {
	case JSON:
		body, err = encodeJSON(obj, gvk)
		return body, ContentTypeJSON, err
	case Protobuf:
		body, err = encodeProtobuf(obj, gvk)
		return body, ContentTypeProtobuf, err
	}
	return nil, "", errEncoding
}

func encodeJSON(obj runtime.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	var value any
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := make(map[string]any, len(u.Object)+2)
		for k, v := range u.Object {
			content[k] = v
		}
		content["apiVersion"], content["kind"] = gvk.GroupVersion().String(), gvk.Kind
		value = content
	} else {
		// A copy of the outermost struct keeps the caller's apiVersion and kind unchanged.
		shallow := reflect.New(reflect.TypeOf(obj).Elem())
		shallow.Elem().Set(reflect.ValueOf(obj).Elem())
		value = shallow.Interface()
		value.(runtime.Object).GetObjectKind().SetGroupVersionKind(gvk)
	}
	var buf bytes.Buffer
	if err := json.NewEncoder(&buf).Encode(value); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func encodeProtobuf(obj runtime.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	m, ok := obj.(message)
	if !ok || !HasProtobuf(reflect.TypeOf(obj)) {
		return nil, &TypeError{Kind: gvk, Type: reflect.TypeOf(obj), Reason: "it has no protobuf form"}
	}
	apiVersion, raw := gvk.GroupVersion().String(), m.Size()
	body := make([]byte, 0, envelopeSize(apiVersion, gvk.Kind, raw))
	body = appendEnvelope(body, apiVersion, gvk.Kind, raw)
	start := len(body)
	body = body[:start+raw]
	if n, err := m.MarshalToSizedBuffer(body[start:]); err != nil {
		return nil, err
	} else if n != raw {
		return nil, &TypeError{Kind: gvk, Type: reflect.TypeOf(obj), Reason: "its size changed while it was written"}
	}
	return envelopeTail(body), nil
}
