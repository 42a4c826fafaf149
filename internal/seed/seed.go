// Package seed gives the random tests of a package one seed, so that a change is tested with the cases of the change
// before. In the audit each run has a seed of its own, which rapid prints if a test fails. Tests that use rapid import it:
//
//	import _ "github.com/flyball-io/flyball/internal/seed"
//
// The flag -rapid.seed overrides both.
package seed

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag

	"github.com/flyball-io/flyball/internal/tier"
)

func init() {
	if tier.InAudit() {
		return
	}
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
