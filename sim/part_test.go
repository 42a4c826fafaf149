package sim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flyball-io/flyball/sim/internal/plan"
)

// The parts have each fault once.
func TestPartsOfFaults(t *testing.T) {
	for all := range 20 {
		var faults []plan.Fault
		for i := range all {
			faults = append(faults, plan.Fault{Kind: plan.Restart, At: plan.Point{Step: i}})
		}
		for n := 1; n < 6; n++ {
			var got []plan.Fault
			for k := 1; k <= n; k++ {
				var p part
				if err := p.Set(fmt.Sprintf("%d/%d", k, n)); err != nil {
					t.Fatal(err)
				}
				got = append(got, p.of(faults)...)
			}
			slices.SortFunc(got, func(a, b plan.Fault) int { return a.At.Step - b.At.Step })
			if !slices.Equal(got, faults) {
				t.Errorf("%d parts of %d faults: %v", n, all, got)
			}
		}
	}
	for _, text := range []string{"", "1", "0/2", "3/2", "a/2", "1/0", "1/2/3"} {
		if err := new(part).Set(text); err == nil {
			t.Errorf("%q is a part", text)
		}
	}
}
