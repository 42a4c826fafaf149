package lint

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	phony    = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
	makeRow  = regexp.MustCompile("(?m)^\\| `make ([a-z-]+)")
	makeRule = regexp.MustCompile(`(?m)^([a-z-]+):(?: [^=\n]*)?\n\t`)
)

// TestMakeTargets checks that each target of the table in CONTRIBUTING.md is a phony one, and that each of those has
// commands: make does nothing for others, and says no error.
func TestMakeTargets(t *testing.T) {
	makefile := document(t, "Makefile")
	targets := strings.Fields(phony.FindStringSubmatch(makefile)[1])
	var rules []string
	for _, m := range makeRule.FindAllStringSubmatch(makefile, -1) {
		rules = append(rules, m[1])
	}
	for _, name := range targets {
		if collects := name == "all" || name == "lint"; !collects && !slices.Contains(rules, name) {
			t.Errorf("Makefile: the target %s has no commands", name)
		}
	}
	rows := makeRow.FindAllStringSubmatch(document(t, "CONTRIBUTING.md"), -1)
	if len(rows) < 10 {
		t.Fatalf("CONTRIBUTING.md: found %d targets: the search is broken", len(rows))
	}
	for _, row := range rows {
		if !slices.Contains(targets, row[1]) {
			t.Errorf("CONTRIBUTING.md: make %s is no target", row[1])
		}
	}
}
