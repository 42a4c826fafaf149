package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Target is the object or collection that a request names. Its resource is "" if the path names none.
type Target struct{ Group, Resource, Subresource, Namespace, Name string }

// Target returns the target of a request: by its path and, if it creates an object, the name in its body.
func (r Request) Target() Target {
	t := parsePath(r.URL)
	if t.name == "" && len(r.Body) > 0 {
		t.name = nameOf(r.Body)
	}
	return Target{t.group, t.resource, t.subresource, t.namespace, t.name}
}

// nameOf returns the name of an object in JSON or protobuf; "" if it has none.
func nameOf(body []byte) string {
	var o metav1.PartialObjectMetadata
	if raw, ok := bytes.CutPrefix(body, []byte("k8s\x00")); ok {
		var u runtime.Unknown
		if u.Unmarshal(raw) != nil || o.Unmarshal(u.Raw) != nil { // the metadata of every kind is field 1
			return ""
		}
	} else if json.Unmarshal(body, &o) != nil { // rules will return the error
		return ""
	}
	return o.Name
}

// Refuse answers a request by an error.
func (r Request) Refuse(s *metav1.Status) Answer { return (&failure{*s}).answer(r) }

// Before returns the view before the last n changes, or the oldest one that the log allows.
func (v View) Before(n int) View {
	switch {
	case n <= 0:
		return v
	case n < len(v.log):
		return v.at(v.log[len(v.log)-n-1].Version)
	}
	return v.at(v.compacted)
}

// Expired is the event that ends a watch whose version is too old.
func (w *Watch) Expired() Event {
	return Event{Type: Failure, Status: &expired(fmt.Sprintf("too old resource version: %d (%d)", w.after, w.after+1)).status}
}

// Applies reports whether a request is an apply.
func (r Request) Applies() bool {
	return r.Method == "PATCH" && strings.HasPrefix(r.ContentType, "application/apply-patch")
}
