package core

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Void reports whether the state was restored after the watch began. Versions then have another meaning, so v may not be
// polled.
func (w *Watch) Void(v View) bool { return w.history != v.memory }

// Over reports whether the watch has to end because the definition of its kind has changed or is gone. v is the view
// that was polled last.
func (w *Watch) Over(v View) bool {
	d := v.defined(w.target)
	if d == w.defined {
		return false
	}
	if d == nil || w.defined == nil || generation(d) != generation(w.defined) {
		return true
	}
	w.defined = d
	return false
}

// generation returns the metadata.generation of an object.
func generation(o *Object) int64 {
	var m metav1.PartialObjectMetadata
	if json.Unmarshal(o.JSON, &m) != nil { // the rules have written it
		return 0
	}
	return m.Generation
}
