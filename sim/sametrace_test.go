package sim_test

import (
	"strings"
	"testing"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/sim"
)

// A program that acts in the order of a map can be searched if each object gets the same. It is not the same program
// from run to run if the order decides what is written.
func TestOrderOfAMap(t *testing.T) {
	names := map[string]bool{"a1": true, "a2": true, "a3": true, "a4": true, "a5": true, "a6": true, "a7": true, "a8": true}
	scenario := func(first bool) sim.Scenario {
		return sim.Scenario{
			Steps: []sim.Step{app("a", `"x":"1"`, ""), set("a", `"x":"2"`)},
			Program: program(func(m *flyball.Manager) error {
				return operator(m, func(k kit) error {
					if k.deleted() {
						return nil
					}
					for name := range names {
						if first {
							return k.note("first", name)
						}
						s, err := k.get(name)
						switch {
						case err != nil:
							return err
						case s == nil:
							err = k.create(name, "x", k.want("x"))
						case string(s.Data["x"]) != k.want("x"):
							err = k.put(s, "x", k.want("x"))
						}
						if err != nil {
							return err
						}
					}
					return nil
				})
			}),
		}
	}
	for range 5 { // two runs have the same order one time in eight
		if err := sim.Refer(t, scenario(false)); err != nil {
			t.Fatal(err)
		}
	}
	frameworkIsRight(t, scenario(false))
	for range 20 {
		if err := sim.Refer(t, scenario(true)); err != nil {
			if !strings.Contains(err.Error(), "two runs of the same program differ") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("the first of a map was the same 40 times")
}
