package shared

import (
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// A call whose context ends during the build leaves no error to later ones.
func TestACallWithoutTime(t *testing.T) {
	tier.NotShort(t, "begins to build the rules")
	if err, later := impatient(t); err == nil || later != nil {
		t.Errorf("the call got %v, later ones %v", err, later)
	}
}
