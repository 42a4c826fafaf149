package main

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/test/plane"
)

// ownPlane starts a control plane for one test, and an administrator's client.
func ownPlane(t *testing.T) (*plane.Plane, *client.Live) {
	t.Helper()
	livetest.NeedReal(t)
	pl, err := plane.Start(t.Context(), plane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pl.Close(); err != nil {
			t.Error(err)
		}
	})
	return pl, livetest.Client(t, pl, client.Options{})
}

// The API server's own calls show whether it reaches the webhooks; the form of its address does
// not.
func TestReach(t *testing.T) {
	t.Parallel()
	pl, c := ownPlane(t)
	left := func() {
		t.Helper()
		for o, err := range client.List[registrationv1.ValidatingWebhookConfiguration](t.Context(), c) {
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("left behind: %v", o.Name)
		}
		if _, err := client.Create(t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-", Namespace: "default"}}); err != nil {
			t.Errorf("others' objects: %v", err)
		}
	}
	listen := func() (net.Listener, string) {
		t.Helper()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l, l.Addr().String()
	}

	l, addr := listen()
	if err := reached(t.Context(), c, l, addr); err != nil {
		t.Errorf("on this machine: %v", err)
	}
	left()

	// At that address the API server finds another program than this one, or none.
	l, _ = listen()
	if err := reached(t.Context(), c, l, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("with nobody there: %v", err)
	}
	left()
	l, _ = listen()
	if err := reached(t.Context(), c, l, strings.TrimPrefix(pl.RESTConfig().Host, "https://")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("with somebody else there: %v", err)
	}
	left()

	cause := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	l, addr = listen()
	if err := reached(ctx, c, l, addr); err == nil {
		t.Error("no error after the end")
	}
	left()

	taken, addr := listen()
	defer taken.Close()
	began := time.Now()
	if err := reach(t.Context(), c, addr); !errors.As(err, new(*net.OpError)) {
		t.Errorf("an address in use: %v after %v", err, time.Since(began))
	}
	left()
}

// If the command is killed, webhooks without a server block no request.
func TestForgiving(t *testing.T) {
	objs := renamedGuestbook(t, "namePrefix: x-\n")
	forgiving(objs)
	n := 0
	for _, o := range objs {
		if hooks, ok := o.Object["webhooks"].([]any); ok {
			for _, h := range hooks {
				n++
				if got := h.(map[string]any)["failurePolicy"]; got != "Ignore" {
					t.Errorf("%s: %v", manifest.Name(o), got)
				}
			}
		}
	}
	if n != 2 {
		t.Errorf("%d webhooks", n)
	}
	got := strings.Join(webhookFlags("127.0.0.1:9443", "shop-system", objs), " ")
	if want := "--webhook-addr 127.0.0.1:9443 --webhook-namespace elsewhere --webhook-cert-dir  --webhook-mutating x-mutating-webhook-configuration --webhook-validating x-validating-webhook-configuration"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
