package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// servers returns the programs of the control plane and of the rules. If tests that need a real control plane are left
// out, its file does not exist. With -short it skips the test.
func servers(t *testing.T) (controlplane, rules string) {
	t.Helper()
	tier.NotShort(t, "starts servers")
	controlplane = os.DevNull + "/none"
	var err error
	if !livetest.NoReal() {
		if controlplane, err = plane.Build(t.Context(), os.Stderr); err != nil {
			t.Fatal(err)
		}
	}
	if rules, err = plane.BuildRules(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	return controlplane, rules
}

// condition is that of scripts: "real" if there is a control plane, and "long" for tests at full length.
func condition(cond string) (bool, error) {
	switch cond {
	case "real":
		return !livetest.NoReal(), nil
	case "long":
		return os.Getenv("FLYBALL_LONG") != "", nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}
