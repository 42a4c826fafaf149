package world

import (
	"slices"
	"testing"
)

// One request of one controller is reconciled once at a time. Other requests and other controllers do not count, also one
// of the same name.
func TestReconcilesOfOneRequestComeOneByOne(t *testing.T) {
	w := &world{out: &Outcome{}}
	i := &incarnation{process: &process{w: w}}
	first, second := i.reconciles("a"), i.reconciles("a")
	end := first("x/y")
	first("x/z")()
	second("x/y")()
	end()
	end = first("x/y")
	w.alarmNoted()
	if len(w.out.Alarms) > 0 {
		t.Fatalf("alarms %q, want none", w.out.Alarms)
	}
	first("x/y")()
	w.alarmNoted()
	if want := []string{"the program reconciles x/y of controller a twice at the same time"}; !slices.Equal(w.out.Alarms, want) {
		t.Errorf("alarms %q, want %q", w.out.Alarms, want)
	}
	end()
}
