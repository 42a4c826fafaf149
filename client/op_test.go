package client

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/testobj"
)

func meta1(name string) *metav1.PartialObjectMetadata {
	m := testobj.New(&metav1.PartialObjectMetadata{}, "web/"+name)
	m.SetGroupVersionKind(podGVK)
	return m
}

// An option without a meaning for the verb is an error, and nothing is sent.
func TestInvalidOpsSendNothing(t *testing.T) {
	for field, op := range map[string]Op{
		"Verb":                {Verb: "destroy", Object: pod("x")},
		"Object":              {Verb: verbCreate, Object: (*appsv1.Deployment)(nil)},
		"Body":                {Verb: verbCreate, Object: pod("x"), Body: pod("x")},
		"Patch":               {Verb: verbPatch, Object: pod("x")},
		"Force":               {Verb: verbUpdate, Object: pod("x"), Force: true},
		"Delete (of a uid)":   {Verb: verbUpdate, Object: pod("x"), Delete: metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("u")}},
		"Delete":              {Verb: verbCreate, Object: pod("x"), Delete: metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}},
		"Select":              {Verb: verbDelete, Object: pod("x"), Select: ListOptions{Selection: Selection{Namespace: "web"}}},
		"Validation":          {Verb: verbCreate, Object: pod("x"), Validation: "Maybe"},
		"Subresource":         {Verb: verbDelete, Object: pod("x"), Subresource: "status"},
		"Owner":               {Verb: verbApply, Object: pod("x")},
		"Object (metadata)":   {Verb: verbUpdate, Object: meta1("x")},
		"Patch (of a create)": {Verb: verbCreate, Object: pod("x"), Patch: MergePatch("{}")},
	} {
		f := newFake(t)
		_, err := f.client(Options{}).Write(t.Context(), op)
		e, ok := asType[*ArgumentError](err)
		if !ok || len(field) < len(e.Argument) || field[:len(e.Argument)] != e.Argument {
			t.Errorf("%s: got %v", field, err)
		}
		if f.count() != 0 {
			t.Errorf("%s: a request was sent", field)
		}
	}
}
