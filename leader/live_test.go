package leader_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/plane/planetest"
)

type coordinationLease = coordinationv1.Lease

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := candidateMain(args); err != nil {
			fmt.Fprintln(os.Stderr, "candidate:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(planetest.Wrap(m))
}

// dial is a client for the shared control plane.
func dial(t *testing.T) *client.Live {
	t.Helper()
	c, err := client.New(planetest.Shared(t).RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
