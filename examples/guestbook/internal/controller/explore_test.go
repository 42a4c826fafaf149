package controller_test

import (
	"testing"

	"github.com/flyball-io/flyball/sim"
)

// The controller makes the same of a Guestbook, whatever it was before.
func TestExplore(t *testing.T) {
	sim.Explore(t, sim.Exploration{
		Scenario: scenario(t),
		From:     "../../config/samples/webapp_v1_guestbook.yaml",
	})
}
