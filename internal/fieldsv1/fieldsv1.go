// Package fieldsv1 reads and makes sets of managed fields. It needs nothing of metav1.FieldsV1 but
// its JSON, which is the same in every version of k8s.io/apimachinery.
package fieldsv1

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parse returns the set of fields: a map of maps. It is empty if f has no bytes. f must not be nil.
func Parse(f *metav1.FieldsV1) (map[string]any, error) {
	var set map[string]any
	doc, err := f.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(doc, &set)
	}
	return set, err
}

// New returns the set of fields that a JSON object describes. It does not check the object.
func New(doc string) *metav1.FieldsV1 {
	f := &metav1.FieldsV1{}
	_ = f.UnmarshalJSON([]byte(doc)) // it keeps the bytes as they are
	return f
}
