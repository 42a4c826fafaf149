package client

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "d"}}
}

func meta1(name string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}}
	m.SetGroupVersionKind(podGVK)
	return m
}

// An option without a meaning for the verb is an error, and nothing is sent.
func TestInvalidOps(t *testing.T) {
	uid := types.UID("u")
	for field, op := range map[string]Op{
		"Verb":                {Verb: "destroy", Object: pod("x")},
		"Object":              {Verb: VerbCreate, Object: (*appsv1.Deployment)(nil)},
		"Body":                {Verb: VerbCreate, Object: pod("x"), Body: pod("x")},
		"Patch":               {Verb: VerbPatch, Object: pod("x")},
		"Force":               {Verb: VerbUpdate, Object: pod("x"), Force: true},
		"IfUID, IfVersion":    {Verb: VerbUpdate, Object: pod("x"), IfUID: &uid},
		"Propagation, Grace":  {Verb: VerbCreate, Object: pod("x"), Propagation: Orphan},
		"Select":              {Verb: VerbDelete, Object: pod("x"), Select: ListOptions{Selection: Selection{Namespace: "web"}}},
		"Validation":          {Verb: VerbCreate, Object: pod("x"), Validation: "Maybe"},
		"Subresource":         {Verb: VerbDelete, Object: pod("x"), Subresource: "status"},
		"Owner":               {Verb: VerbApply, Object: pod("x")},
		"Object (metadata)":   {Verb: VerbUpdate, Object: meta1("x")},
		"Patch (of a create)": {Verb: VerbCreate, Object: pod("x"), Patch: MergePatch("{}")},
	} {
		f := newFake(t)
		_, err := f.client(Options{}).Write(t.Context(), op)
		e, ok := asType[*InvalidOpError](err)
		if !ok || len(field) < len(e.Field) || field[:len(e.Field)] != e.Field {
			t.Errorf("%s: got %v", field, err)
		}
		if f.count() != 0 {
			t.Errorf("%s: a request was sent", field)
		}
	}
}
