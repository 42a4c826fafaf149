package client_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Widget is older than its resource definition: it lacks the color of a widget.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int `json:"size"`
	} `json:"spec"`
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object { c := *w; return &c }

// The server has a field that the Go type lacks. The update keeps it.
func ExampleUpdate_unknownFields() {
	c, stop := connect()
	defer stop()
	c.Scheme().AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, &Widget{})
	ctx := context.Background()

	w, err := client.Get[Widget](ctx, c, object.Key{Namespace: "web", Name: "w"})
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Spec.Size = 4
	if _, err := client.Update(ctx, c, w); err != nil {
		fmt.Println(err)
	}
	// Output: server got: {"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w","namespace":"web","uid":"4f1c","resourceVersion":"7"},"spec":{"size":4,"color":"red"}}
}
