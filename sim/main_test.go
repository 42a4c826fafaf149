package sim_test

import (
	"flag"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/tier"
)

// small are the flags outside of the audit, as the race detector has them. Those of the command line override them.
var small = map[string]string{"sim.part": "1/16", "sim.pairs": "10", "sim.sequences": "4"}

// Some tests are about goroutines that never end.
func TestMain(m *testing.M) {
	if !tier.InAudit() {
		for name, value := range small {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	flag.Parse()
	if testing.Short() {
		fmt.Println("sim: left out by -short: its tests run the rules of Kubernetes in a process of their own")
		return
	}
	leaktest.Main(apiserver.Wrap(m), goleak.IgnoreAnyFunction("github.com/flyball-io/flyball/sim_test.forEver"),
		goleak.IgnoreAnyFunction("github.com/flyball-io/flyball/sim.(*checker).bubble.func1"))
}
