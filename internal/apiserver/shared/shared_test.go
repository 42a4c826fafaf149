package shared

import "testing"

// A call whose context ends during the build leaves no error to later ones.
func TestACallWithoutTime(t *testing.T) {
	if err, later := impatient(t); err == nil || later != nil {
		t.Errorf("the call got %v, later ones %v", err, later)
	}
}
