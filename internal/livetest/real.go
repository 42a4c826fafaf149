package livetest

import (
	"os"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// RealEnv is the environment variable that says where tests run. "0" leaves out those that need a real control plane.
// Any other value but "" makes those run there that can run in memory, too; see package servertest.
const RealEnv = "FLYBALL_REAL"

// NoReal reports whether tests that need a real control plane are left out.
func NoReal() bool { return os.Getenv(RealEnv) == "0" }

// NeedReal skips a test that needs a real control plane if those are left out, and with -short.
func NeedReal(t testing.TB) {
	t.Helper()
	tier.NotShort(t, "starts a control plane")
	if NoReal() {
		t.Skipf("it needs a real control plane, and %s=0 leaves such tests out", RealEnv)
	}
}
