package main

import (
	"path"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// Each mutant changes a text that its file has once, and says what it breaks.
func TestMutantsApply(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		if _, err := m.apply("../.."); err != nil {
			t.Error(err)
		}
		if names[m.name] || m.breaks == "" || m.old == m.new {
			t.Errorf("%s: its name is not its own, or it breaks nothing", m.name)
		}
		names[m.name] = true
	}
	if len(mutants) < 30 {
		t.Errorf("%d mutants", len(mutants))
	}
}

// A mutant whose text has gone, or is there twice, is an error that names it.
func TestMutantsThatAreGone(t *testing.T) {
	for _, old := range []string{"no such " + "text", "\n"} {
		m := mutant{name: "m", file: "lab/mutants/main_test.go", old: old}
		if _, err := m.apply("../.."); err == nil || !strings.Contains(err.Error(), "the mutant is gone") {
			t.Errorf("%q: %v", old, err)
		}
	}
}

// The first failure of a test names the plan and what is wrong.
func TestExplain(t *testing.T) {
	for out, want := range map[string][2]string{
		"    check.go:1: sim: cut@3:DELETED:pods/default/a\n          pods/default/a is left over\n":   {"cut@3:DELETED:pods/default/a", "pods/default/a is left over"},
		"sim: TestX: 3 of 9 single faults, 0 pairs\n    check.go:1: sim: without a fault: it hangs\nx": {"none", "it hangs"},
		"--- FAIL: TestX (0.2s)\n    parts_test.go:171: two write\n":                                   {"none", "two write"},
		"panic: lost [recovered]\nrunning tests:":                                                      {"none", "panic: lost [recovered]"},
	} {
		if plan, what := explain(out); plan != want[0] || what != want[1] {
			t.Errorf("%q: %q, %q", out, plan, what)
		}
	}
}

// The simulations have the packages that are broken.
func TestMutantsAreReached(t *testing.T) {
	tier.Audit(t, "runs the go command")
	b := bench{root: "../..", simulations: simulations}
	if err := b.findPackages(t.Context()); err != nil {
		t.Fatal(err)
	}
	reached := map[string]bool{}
	for _, s := range b.simulations {
		for _, p := range s.packages {
			reached[p] = true
		}
	}
	for _, m := range mutants {
		if !reached[path.Dir(m.file)] {
			t.Errorf("%s: no simulation has package %s", m.name, path.Dir(m.file))
		}
	}
}
