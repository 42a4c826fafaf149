package core

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Void reports whether the state was restored after the watch began. Versions then have another meaning, so v may not be
// polled.
func (w *Watch) Void(v View) bool { return w.memory != v.memory }

// Over reports whether the watch has to end because the definition of its kind has changed or is gone. v is the view
// that was polled last.
func (w *Watch) Over(v View) bool {
	d := v.defined(w.target)
	if d == w.defined {
		return false
	}
	if d == nil || w.defined == nil || specOf(d) != specOf(w.defined) {
		return true
	}
	w.defined = d
	return false
}

// spec tells whether the spec of a definition is another one.
type spec struct {
	uid        types.UID
	generation int64
}

func specOf(definition *Object) spec {
	var m metav1.PartialObjectMetadata
	if json.Unmarshal(definition.JSON, &m) != nil { // the rules have written it
		return spec{}
	}
	return spec{m.UID, m.Generation}
}

// asBegun returns v with the definition that the watch has. Its events are shown by that one until it ends: when a
// definition goes, its objects are deleted just before.
func (w *Watch) asBegun(v View) View {
	if w.defined == nil || v.defined(w.target) == w.defined {
		return v
	}
	v.objects = fork(v.objects)
	v.objects.Set(w.defined.Key, w.defined)
	return v
}
