package core

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// storing returns a definition with the version of an object as the stored one; nil if it is that already, or if the
// definition does not have it. With such a definition, an object that was stored before the stored version changed is
// read without a webhook.
func storing(definition, object []byte) []byte {
	var d, o unstructured.Unstructured
	if d.UnmarshalJSON(definition) != nil || o.UnmarshalJSON(object) != nil {
		return nil
	}
	versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions") // none: nothing changes
	changed := false
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok {
			is := v["name"] == o.GroupVersionKind().Version
			changed = changed || is && v["storage"] != true
			v["storage"] = is
		}
	}
	if !changed || unstructured.SetNestedSlice(d.Object, versions, "spec", "versions") != nil {
		return nil
	}
	text, err := json.Marshal(d.Object)
	if err != nil {
		return nil
	}
	return text
}
