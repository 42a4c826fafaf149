package client_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// A view reads two fields of a Pod, and no others.
func ExampleProject() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	type podView struct {
		Metadata struct {
			Name   string
			Labels map[string]string
		}
		Spec   struct{ NodeName string }
		Status struct{ Phase corev1.PodPhase }
	}
	pod, err := client.Project[corev1.Pod, podView](ctx, c, object.Key{Namespace: "web", Name: "front"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pod.Metadata.Name, pod.Status.Phase)
	// Output: front Running
}

// A kind without a Go type is read in the same way; here by paths.
func ExampleProject_custom() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	type widgetView struct {
		Name string `field:"metadata.name"`
		Size int    `field:"spec.size"`
		Team string `field:"metadata.labels[example.com/team]"`
	}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	w, err := client.Project[unstructured.Unstructured, widgetView](ctx, c, object.Key{Namespace: "web", Name: "w"}, client.OfKind(widget))
	fmt.Printf("%+v %v\n", w, err)
	// Output: {Name:w Size:3 Team:} <nil>
}

// A view that does not fit the kind is an error before any request.
func ExampleProject_wrong() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	type podView struct{ Spec struct{ NodName string } }
	_, err := client.Project[corev1.Pod, podView](ctx, c, object.Key{Namespace: "web", Name: "front"})
	fmt.Println(err)
	// Output: wire: view client_test.podView.Spec.NodName: v1.Pod has no field spec.nodName
}

func ExampleProjectList() {
	c, stop := connect()
	defer stop()
	ctx := context.Background()

	type podView struct {
		Name string `field:"metadata.name"`
		Node string `field:"spec.nodeName"`
	}
	for pod, err := range client.ProjectList[corev1.Pod, podView](ctx, c, client.InNamespace("web")) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pod.Name)
	}
	// Output:
	// back
	// front
}
