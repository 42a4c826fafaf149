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

// AppliedAnnotation holds, on every child, a hash of what was applied last.
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

// foldStringData moves the stringData of a Secret, which a server takes but never shows, into its
// data.
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

// stamp notes what is wanted, and annotates it with its hash.
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
	if len(e.o.takeOver) > 0 { // so that one that was applied without taking over is applied once more
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

// difference names a field in which live is not as wanted; empty: there is none.
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

// setsBeside is what is wanted with the hash that live has, where that is ours: managedFields tell
// what was applied, so that any hash will do.
func (e *ensure) setsBeside(live object.Object, owned map[string]any) map[string]any {
	_, ours, _ := unstructured.NestedFieldNoCopy(owned, "f:metadata", "f:annotations", "f:"+AppliedAnnotation)
	if !ours {
		return e.sets
	}
	want := maps.Clone(e.sets)
	metadata, _ := want["metadata"].(map[string]any)
	metadata = maps.Clone(metadata) // it has the owner reference at least
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[AppliedAnnotation] = live.GetAnnotations()[AppliedAnnotation]
	metadata["annotations"], want["metadata"] = annotations, metadata
	return want
}

// fields is what an object sets, as the server would write it, without what names it. written is what
// the server keeps of it, if that is known: of an unstructured object of a kind that travels as
// protobuf, which a server decodes into the same Go type.
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

// says is what the object sets: all of an unstructured one; of a Go value, what is not just there
// because its type writes it, which are nulls and optional structs that are zero.
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

// canonical writes the values in m, such as quantities, as the Go type of its kind does. It returns m
// as a value of that type, and what that writes.
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

// rewrite puts the plain values of like in the place of those of v.
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

// asMap is the value as JSON has it, with numbers as they are written.
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
