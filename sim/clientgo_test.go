package sim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/flyball-io/flyball/sim"
)

// A program that reports errors as client-go does ends in time: no error waits for the time of another run.
func TestHandledErrors(t *testing.T) {
	ctx := klog.NewContext(t.Context(), logr.Discard())
	if err := sim.Refer(t, sim.Scenario{
		Program: func(stop context.Context, _ *rest.Config) error {
			utilruntime.HandleErrorWithContext(ctx, errors.New("wrong"), "it goes on")
			<-stop.Done()
			return nil
		},
		Steps: []sim.Step{app("a", `"x":"1"`, "")},
	}); err != nil {
		t.Fatal(err)
	}
}
