package wire_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/scheme"
)

// How do I read a list without holding all of it?
func ExampleList() {
	body := io.NopCloser(strings.NewReader(`{
		"apiVersion": "v1", "kind": "ConfigMapList", "metadata": {"resourceVersion": "42"},
		"items": [
			{"metadata": {"namespace": "shop", "name": "prices"}, "data": {"tea": "3"}},
			{"metadata": {"namespace": "shop"}},
			{"metadata": {"namespace": "shop", "name": "hours"}}
		]
	}`))
	kind := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Scheme: scheme.New()}
	list, err := wire.NewList(body, "application/json", kind, wire.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer list.Close()
	for {
		raw, err := list.Next()
		if err == io.EOF {
			break
		}
		var bad *wire.DecodeError
		if err != nil && !errors.As(err, &bad) {
			fmt.Println(err) // the list cannot be read on
			return
		}
		if err != nil {
			continue // one object of another kind
		}
		header, err := raw.Header()
		if err != nil {
			fmt.Println("rejected:", err)
			continue
		}
		fmt.Println(header.Key)
	}
	fmt.Println("version", list.Meta().ResourceVersion)
	// Output:
	// shop/prices
	// rejected: wire: decode ConfigMap "shop/": metadata.name: name is empty
	// shop/hours
	// version 42
}

// How do I follow a watch?
func ExampleWatch() {
	body := io.NopCloser(strings.NewReader(
		`{"type":"ADDED","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a","resourceVersion":"5"}}}
		{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}
		{"type":"ADDED","object":{"apiVers`))
	watch, err := wire.NewWatch(body, wire.ContentTypeJSONWatch, things, wire.Limits{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watch.Close()
	for {
		frame, err := watch.Next()
		if err != nil {
			fmt.Println(err, errors.Is(err, io.ErrUnexpectedEOF))
			return
		}
		if frame.Type == wire.Bookmark {
			fmt.Println(frame.Type, frame.ResourceVersion, frame.InitialEventsEnd)
			continue
		}
		thing := new(unstructured.Unstructured)
		if err := frame.Object.Decode(thing); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(frame.Type, thing.GetKind(), thing.GetName())
	}
	// Output:
	// ADDED Thing a
	// BOOKMARK 9 true
	// wire: body cut at byte 319 true
}

// How do I read one field without decoding the object?
func ExampleCompilePath() {
	images, err := wire.CompilePath(pods.GoType(), "spec.containers[*].image")
	if err != nil {
		fmt.Println(err)
		return
	}
	raw := wire.Raw{Kind: pods, Encoding: wire.JSON, Bytes: []byte(
		`{"metadata":{"name":"web"},"spec":{"containers":[{"image":"nginx"},{"image":"envoy"}]}}`)}
	fmt.Println(images.Values(raw))

	_, err = wire.CompilePath(pods.GoType(), "spec.nodename")
	fmt.Println(err)
	// Output:
	// [nginx envoy] <nil>
	// wire: field path "spec.nodename", at "nodename": v1.PodSpec has no such field
}
