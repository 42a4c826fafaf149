package world

import "testing"

func TestLibrary(t *testing.T) {
	for function, want := range map[string]bool{
		"net/http.(*Client).do": true,
		"runtime.goexit":        true,
		"main.run":              false,
		"main.(*op).Reconcile":  false,
		"sigs.k8s.io/controller-runtime/pkg/client.(*client).Create":       true,
		"k8s.io/client-go/rest.(*Request).Do":                              true,
		"golang.org/x/oauth2.(*Transport).RoundTrip":                       true,
		"github.com/flyball-io/flyball/client.(*Live).Create":              true,
		"github.com/flyball-io/flyball.(*Manager).Run":                     true,
		"github.com/flyball-io/flyball/examples/podscaler/scaler.(*s).Run": false,
		"github.com/flyball-io/flyball/sim_test.bug.func1":                 false,
		"github.com/flyball-io/flyballoon.Run":                             false,
		"github.com/someone/operator/internal/controller.(*R).Reconcile":   false,
		"example.com/op.Reconcile":                                         false,
		"internal/poll.(*FD).Read":                                         true,
	} {
		if got := library(function); got != want {
			t.Errorf("%s: %v", function, got)
		}
	}
}
