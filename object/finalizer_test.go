package object_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/object"
)

func TestFinalizersAreAddedAndRemovedOnce(t *testing.T) {
	for _, tt := range []struct {
		name                string
		has                 []string
		add, remove         bool
		withAdded, withGone []string
	}{
		{"none", nil, true, false, []string{"f"}, nil},
		{"another", []string{"g"}, true, false, []string{"g", "f"}, []string{"g"}},
		{"this", []string{"f"}, false, true, []string{"f"}, nil},
		{"between others", []string{"g", "f", "h"}, false, true, []string{"g", "f", "h"}, []string{"g", "h"}},
		{"twice", []string{"f", "g", "f"}, false, true, []string{"f", "g", "f"}, []string{"g"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, o := range []object.Object{&corev1.Pod{}, &unstructured.Unstructured{Object: map[string]any{}}, &metav1.PartialObjectMetadata{}} {
				given := slices.Clone(tt.has)
				o.SetFinalizers(given)
				if got := object.AddFinalizer(o, "f"); got != tt.add || !slices.Equal(o.GetFinalizers(), tt.withAdded) {
					t.Errorf("%T: add = %v, then %q; want %v, %q", o, got, o.GetFinalizers(), tt.add, tt.withAdded)
				}
				o.SetFinalizers(given)
				if got := object.RemoveFinalizer(o, "f"); got != tt.remove || !slices.Equal(o.GetFinalizers(), tt.withGone) {
					t.Errorf("%T: remove = %v, then %q; want %v, %q", o, got, o.GetFinalizers(), tt.remove, tt.withGone)
				}
				if !slices.Equal(given, tt.has) {
					t.Errorf("%T: the list that was given became %q", o, given)
				}
			}
		})
	}
}

// The list of a copy that shares it does not change: before and after can be compared.
func TestFinalizersOfACopyDoNotChange(t *testing.T) {
	before := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Finalizers: append(make([]string, 0, 8), "f", "g")}}
	after := *before
	object.RemoveFinalizer(&after, "f")
	object.AddFinalizer(&after, "h")
	if want := []string{"f", "g"}; !slices.Equal(before.Finalizers[:2], want) {
		t.Errorf("before has %q, want %q", before.Finalizers, want)
	}
}

func ExampleAddFinalizer() {
	pod := &corev1.Pod{}
	fmt.Println(object.AddFinalizer(pod, "example.org/cleanup"), object.AddFinalizer(pod, "example.org/cleanup"))
	fmt.Println(object.RemoveFinalizer(pod, "example.org/cleanup"), object.HasFinalizer(pod, "example.org/cleanup"))
	// Output:
	// true false
	// true false
}
