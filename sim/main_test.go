package sim_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/leaktest"
)

// Some tests are about goroutines that never end.
func TestMain(m *testing.M) {
	leaktest.Main(apiserver.Wrap(m), goleak.IgnoreAnyFunction("github.com/flyball-io/flyball/sim_test.forEver"),
		goleak.IgnoreAnyFunction("github.com/flyball-io/flyball/sim.(*checker).bubble.func1"))
}
