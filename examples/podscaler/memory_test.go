package main

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/internal/sampletest"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/internal/tier"
)

// The controller scales on an API server in memory, whose controllers make the Pods.
func TestInMemory(t *testing.T) {
	tier.NotShort(t, "starts a server")
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}})
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	mgr, err := flyball.New(flyball.Options{Name: "podscaler", Config: s.RESTConfig()})
	if err != nil {
		t.Fatal(err)
	}
	if err := scaler.Add(mgr, time.Minute, controller.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Run(ctx) }()
	deploy(t, c, "default", "web", map[string]string{scaler.Selector: "app=web", scaler.MinReplicas: "3"})
	if !sampletest.Eventually(t, c, sampletest.Bound, "default", "web", func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 3 }) {
		t.Error("not scaled")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
