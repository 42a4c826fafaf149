// Package simpart has simulations try a part of their faults outside of the audit: the same part each time. Tests that
// simulate a sample import it:
//
//	import _ "github.com/flyball-io/flyball/internal/simpart"
//
// Flags on the command line override it.
package simpart

import (
	"flag"

	"github.com/flyball-io/flyball/internal/tier"
	_ "github.com/flyball-io/flyball/sim" // has the flags
)

func init() {
	if tier.InAudit() {
		return
	}
	for name, value := range map[string]string{"sim.part": "1/4", "sim.pairs": "10", "sim.sequences": "4"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
}
