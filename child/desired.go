package child

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// AppliedAnnotation is the annotation of every child with the hash of the last apply.
const AppliedAnnotation = "flyball.io/applied"

func hasStatus(o object.Object) bool {
	if u, ok := o.(*unstructured.Unstructured); ok {
		s, has := u.Object["status"]
		m, isMap := s.(map[string]any)
		return has && s != nil && !(isMap && len(m) == 0)
	}
	s := reflect.ValueOf(o).Elem().FieldByName("Status")
	return s.IsValid() && !s.IsZero()
}

// foldStringData moves the stringData of a Secret into its data. Servers accept stringData but never
// return it.
func foldStringData(gvk schema.GroupVersionKind, o object.Object) error {
	if gvk != corev1.SchemeGroupVersion.WithKind("Secret") {
		return nil
	}
	switch s := o.(type) {
	case *corev1.Secret:
		if len(s.StringData) > 0 && s.Data == nil {
			s.Data = map[string][]byte{}
		}
		for k, v := range s.StringData {
			s.Data[k] = []byte(v)
		}
		s.StringData = nil
	case *unstructured.Unstructured:
		plain, _, err := unstructured.NestedStringMap(s.Object, "stringData")
		if err != nil {
			return &InvalidError{Field: "desired.stringData", Problem: err.Error()}
		}
		for k, v := range plain {
			if err := unstructured.SetNestedField(s.Object, base64.StdEncoding.EncodeToString([]byte(v)), "data", k); err != nil {
				return &InvalidError{Field: "desired.data", Problem: err.Error()}
			}
		}
		unstructured.RemoveNestedField(s.Object, "stringData")
	}
	return nil
}

// stamp sets e.sets and adds the annotation with the hash to e.want.
func (e *ensure) stamp() error {
	sets, written, err := e.fields(e.want)
	if err != nil {
		return err
	}
	data, err := json.Marshal(sets)
	if err != nil {
		return err
	}
	if e.sets = sets; written != nil {
		e.sets = markUnkept(sets, written).(map[string]any)
	}
	if len(e.o.takeOver) > 0 { // a child that was applied without TakeOver is applied once more
		data = fmt.Append(data, e.o.takeOver)
	}
	sum := sha256.Sum256(data)
	annotations := maps.Clone(e.want.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AppliedAnnotation] = hex.EncodeToString(sum[:8])
	e.want.SetAnnotations(annotations)
	return nil
}

// difference returns the path of a field of live that is not as desired, or "".
func (e *ensure) difference(live object.Object) (string, error) {
	have, err := asMap(live)
	if err != nil {
		return "", err
	}
	managed := live.GetManagedFields()
	if len(managed) == 0 {
		if live.GetAnnotations()[AppliedAnnotation] != e.want.GetAnnotations()[AppliedAnnotation] {
			return "metadata.annotations." + AppliedAnnotation, nil
		}
		return compare(e.sets, have, nil), nil
	}
	for _, m := range managed {
		if m.Manager != e.o.fieldOwner || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" {
			continue
		}
		if m.APIVersion != e.gvk.GroupVersion().String() || m.FieldsV1 == nil {
			return "apiVersion", nil
		}
		var owned map[string]any
		if err := json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned); err != nil {
			return "", fmt.Errorf("managedFields of the live object: %w", err)
		}
		return compare(e.setsBeside(live, owned), have, owned), nil
	}
	return "metadata.managedFields", nil
}

// setsBeside returns e.sets with the hash that live has, if we own the annotation. managedFields show
// what was applied, so the hash does not matter.
func (e *ensure) setsBeside(live object.Object, owned map[string]any) map[string]any {
	_, ours, _ := unstructured.NestedFieldNoCopy(owned, "f:metadata", "f:annotations", "f:"+AppliedAnnotation)
	if !ours {
		return e.sets
	}
	want := maps.Clone(e.sets)
	metadata, _ := want["metadata"].(map[string]any)
	metadata = maps.Clone(metadata) // not nil: it has the owner reference
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[AppliedAnnotation] = live.GetAnnotations()[AppliedAnnotation]
	metadata["annotations"], want["metadata"] = annotations, metadata
	return want
}

// fields returns the fields that an object sets, as the server would write them, without kind and key.
// written has the fields that the server keeps, if they are known. They are known for an unstructured
// object of a kind that travels as protobuf, because the server decodes it into the same Go type.
func (e *ensure) fields(o object.Object) (m, written map[string]any, err error) {
	if m, err = says(o); err != nil {
		return nil, nil, err
	}
	if _, asGiven := o.(*unstructured.Unstructured); asGiven && e.c.Scheme().Recognizes(e.gvk) {
		typed, same, err := e.canonical(m)
		if err != nil {
			return nil, nil, err
		}
		if wire.HasProtobuf(reflect.TypeOf(typed)) {
			written = same
		}
	}
	delete(m, "apiVersion")
	delete(m, "kind")
	if md, ok := m["metadata"].(map[string]any); ok {
		delete(md, "name")
		delete(md, "namespace")
	}
	return m, written, nil
}

// says returns the fields that an object sets. An unstructured object sets all its fields. A Go value
// does not set nulls and zero optional structs: its type writes those although nobody set them.
func says(o object.Object) (map[string]any, error) {
	m, err := asMap(o)
	if err != nil {
		return nil, err
	}
	if _, asGiven := o.(*unstructured.Unstructured); !asGiven {
		sparse.Unset(o, m)
	}
	delete(m, "status")
	if md, ok := m["metadata"].(map[string]any); ok {
		delete(md, "managedFields")
		delete(md, "creationTimestamp")
	}
	return m, nil
}

// canonical replaces the values in m, such as quantities, by the form that the Go type of the kind
// writes. It returns m as a value of that type, and the JSON of that value.
func (e *ensure) canonical(m map[string]any) (typed runtime.Object, same map[string]any, err error) {
	if typed, err = e.c.Scheme().New(e.gvk); err != nil {
		return nil, nil, err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(data, typed); err != nil {
		return nil, nil, &InvalidError{Field: "desired", Problem: fmt.Sprintf("is no %s: %v", e.gvk.Kind, err)}
	}
	if same, err = asMap(typed); err != nil {
		return nil, nil, err
	}
	rewrite(m, same)
	return typed, same, nil
}

// rewrite replaces the plain values of v by those of like.
func rewrite(v, like any) any {
	switch v := v.(type) {
	case map[string]any:
		other, _ := like.(map[string]any)
		for k, x := range v {
			if y, ok := other[k]; ok && x != nil && y != nil {
				v[k] = rewrite(x, y)
			}
		}
		return v
	case []any:
		other, _ := like.([]any)
		for i := range v {
			if i < len(other) {
				v[i] = rewrite(v[i], other[i])
			}
		}
		return v
	}
	switch like.(type) {
	case map[string]any, []any:
		return v
	}
	return like
}

// asMap is the value in JSON, with numbers as json.Number.
func asMap(o any) (map[string]any, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var m map[string]any
	err = dec.Decode(&m)
	return m, err
}
