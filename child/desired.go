package child

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/internal/sparse"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// appliedAnnotation is the annotation of every child with the hash of the last apply.
const appliedAnnotation = "flyball.io/applied"

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
func foldStringData(secret map[string]any) error {
	plain, _, err := unstructured.NestedStringMap(secret, "stringData")
	if err != nil {
		return invalid("desired.stringData", err.Error())
	}
	for k, v := range plain {
		if err := unstructured.SetNestedField(secret, base64.StdEncoding.EncodeToString([]byte(v)), "data", k); err != nil {
			return invalid("desired.data", err.Error())
		}
	}
	delete(secret, "stringData")
	return nil
}

// stamp sets e.sets and e.hash, and adds the annotation with the hash to e.want.
func (e *ensure) stamp() error {
	if err := e.setSets(); err != nil {
		return err
	}
	data, err := json.Marshal(e.sets)
	if err != nil {
		return err
	}
	if len(e.o.takeOver) > 0 { // a child that was applied without TakeOver is applied once more
		data = fmt.Append(data, e.o.takeOver)
	}
	sum := sha256.Sum256(data)
	e.hash = hex.EncodeToString(sum[:8])
	annotations := e.want.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appliedAnnotation] = e.hash
	e.want.SetAnnotations(annotations)
	return nil
}

// difference returns the path of a field of live that is not as desired, or "".
func (e *ensure) difference(live object.Object) (string, error) {
	have, err := sparse.Map(live)
	if err != nil {
		return "", err
	}
	if len(live.GetManagedFields()) == 0 {
		if !e.sameHash(live) {
			return "metadata.annotations." + appliedAnnotation, nil
		}
		return compare(e.sets, have, nil, true), nil
	}
	m := e.lastApply(live)
	switch {
	case m == nil:
		return "metadata.managedFields", nil
	case m.APIVersion != e.gvk.GroupVersion().String() || m.FieldsV1 == nil:
		return "apiVersion", nil
	}
	owned, err := fieldsv1.Parse(m.FieldsV1)
	if err != nil {
		return "", fmt.Errorf("managedFields of the live object: %w", err)
	}
	e.withoutHash(owned)
	return compare(e.sets, have, owned, e.sameHash(live)), nil
}

func (e *ensure) sameHash(live object.Object) bool {
	return live.GetAnnotations()[appliedAnnotation] == e.hash
}

// lastApply returns the managedFields of our last apply, or nil.
func (e *ensure) lastApply(o object.Object) *metav1.ManagedFieldsEntry {
	all := o.GetManagedFields()
	if i := slices.IndexFunc(all, e.isOurs); i >= 0 {
		return &all[i]
	}
	return nil
}

func (e *ensure) isOurs(m metav1.ManagedFieldsEntry) bool {
	return m.Manager == e.o.fieldOwner && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == ""
}

// withoutHash removes the annotation with the hash from owned fields: e.sets does not have it.
func (e *ensure) withoutHash(owned map[string]any) {
	metadata, _ := owned["f:metadata"].(map[string]any)
	annotations, _ := metadata["f:annotations"].(map[string]any)
	delete(annotations, "f:"+appliedAnnotation)
	if _, wanted, _ := unstructured.NestedFieldNoCopy(e.sets, "metadata", "annotations"); !wanted {
		if delete(annotations, "."); len(annotations) == 0 {
			delete(metadata, "f:annotations")
		}
	}
}

// setSets sets e.sets to the fields of e.want, as the server would write them, without kind and key.
// Zero values are droppedZero if the server drops them. That is known for an unstructured object of a kind
// that travels as protobuf, because the server decodes it into the same Go type.
func (e *ensure) setSets() error {
	e.sets = runtime.DeepCopyJSON(e.want.Object)
	if e.asGiven && e.c.Scheme().Recognizes(e.gvk) {
		if err := e.canonical(e.sets); err != nil {
			return err
		}
	}
	for _, field := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}} {
		unstructured.RemoveNestedField(e.sets, field...)
	}
	return nil
}

// setFields returns the fields that an object sets. An unstructured object sets all its fields. A Go value
// does not set nulls and zero optional structs: its type writes those although nobody set them.
func setFields(o object.Object) (map[string]any, error) {
	m, err := sparse.Map(o)
	if err != nil {
		return nil, err
	}
	if _, asGiven := o.(*unstructured.Unstructured); !asGiven {
		sparse.Unset(o, m)
	}
	for _, field := range [][]string{{"status"}, {"metadata", "managedFields"}, {"metadata", "creationTimestamp"}} {
		unstructured.RemoveNestedField(m, field...)
	}
	return m, nil
}

// canonical replaces the values in m, such as quantities, by the form that the Go type of the kind
// writes. It marks the zero values that the server drops.
func (e *ensure) canonical(m map[string]any) error {
	typed, err := e.c.Scheme().New(e.gvk)
	if err != nil {
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, typed); err != nil {
		return invalid("desired", fmt.Sprintf("is no %s: %v", e.gvk.Kind, err))
	}
	written, err := sparse.Map(typed)
	if err != nil {
		return err
	}
	rewrite(m, written, wire.HasProtobuf(reflect.TypeOf(typed)))
	return nil
}

// droppedZero is a zero value that a server drops, because its Go type omits the field when it is zero. It is
// as desired if the child lacks the field.
type droppedZero struct{ value any }

func (u droppedZero) MarshalJSON() ([]byte, error) { return json.Marshal(u.value) }

// rewrite replaces the plain values of v by those of written, which is v as its Go type writes it. If
// the server writes the same, it marks the zero values that written lacks as droppedZero.
func rewrite(v, written any, mark bool) any {
	switch v := v.(type) {
	case map[string]any:
		other, known := written.(map[string]any)
		for k, x := range v {
			switch y, kept := other[k]; {
			case mark && known && !kept && isZero(x):
				v[k] = droppedZero{x}
			case x != nil && y != nil:
				v[k] = rewrite(x, y, mark)
			}
		}
		return v
	case []any:
		other, _ := written.([]any)
		for i := range min(len(v), len(other)) {
			v[i] = rewrite(v[i], other[i], mark && len(v) == len(other))
		}
		return v
	}
	switch written.(type) {
	case map[string]any, []any:
		return v
	}
	return written
}

// isZero reports whether a JSON value is the zero value of its Go type.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, x := range v {
			if !isZero(x) {
				return false
			}
		}
		return true
	}
	return false
}
