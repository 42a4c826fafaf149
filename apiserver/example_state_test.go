package apiserver_test

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// A test returns to a snapshot, whatever has happened since.
func ExampleServer_Restore() {
	ctx := context.Background()
	s, c := serverAndClient(apiserver.Options{})
	defer s.Close()
	defer c.Close()
	if _, err := client.Create(ctx, c, configMap("config", "1")); err != nil {
		fmt.Println(err)
		return
	}

	before := s.Snapshot()
	if err := client.Delete(ctx, c, configMap("config", "")); err != nil {
		fmt.Println(err)
	}
	s.Restore(before)

	o, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "config"})
	fmt.Println(o.Data["k"], err)
	// Output:
	// 1 <nil>
}

// A state is written as YAML, and another server starts from it.
func ExampleServer_Export() {
	ctx := context.Background()
	one, err := apiserver.New(ctx, apiserver.Options{Seed: "example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer one.Close()
	var file bytes.Buffer
	if err := one.Export(&file); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(bytes.Join(bytes.SplitAfter(file.Bytes(), []byte("\n"))[2:4], nil)))

	two, err := apiserver.New(ctx, apiserver.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer two.Close()
	fmt.Println(two.Import(&file), two.Snapshot().Version() == one.Snapshot().Version())
	// Output:
	// format: flyball-state-1
	// end: true
	// <nil> true
}
