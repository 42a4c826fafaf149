package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
)

// The watch tells what controllers of an API server in memory make of a Deployment.
func TestInMemory(t *testing.T) {
	tier.NotShort(t, "starts a server")
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}})
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- watch(ctx, c, client.Selection{Namespace: "default", Labels: labels.Everything()}, w)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	expect := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("it never said %s: %v", want, lines.Err())
	}
	d := deploy(t, c, "default", "web", "web")
	expect("default/web: 1 of 1 replicas ready")
	if err := client.SetScale(ctx, c, d, 3); err != nil {
		t.Fatal(err)
	}
	expect("default/web: 3 of 3 replicas ready")
	if err := client.Delete(ctx, c, d); err != nil {
		t.Fatal(err)
	}
	expect("deleted default/web")
	cancel()
	go func() { _, _ = io.Copy(io.Discard, r) }() // what it still says
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
