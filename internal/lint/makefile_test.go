package lint

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	phony    = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
	makeRow  = regexp.MustCompile("(?m)^\\| `make ([a-z0-9-]+)")
	makeText = regexp.MustCompile(`(?m)^([a-z0-9-]+):.* ## `)
	groups   = regexp.MustCompile(`split\("(every day: [^"]*)", group`)
	makeRule = regexp.MustCompile(`(?m)^([a-z0-9-]+):(?: [^=\n]*)?\n\t`)
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

// TestMakeHelp checks that each target with a text is in one group of "make help", and that each name there is such a
// target.
func TestMakeHelp(t *testing.T) {
	makefile := document(t, "Makefile")
	var want, got []string
	for _, m := range makeText.FindAllStringSubmatch(makefile, -1) {
		want = append(want, m[1])
	}
	for group := range strings.SplitSeq(groups.FindStringSubmatch(makefile)[1], "|") {
		_, names, _ := strings.Cut(group, ": ")
		got = append(got, strings.Fields(names)...)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("make help has the targets\n%q, and those with a text are\n%q", got, want)
	}
}

// TestEveryPackageIsTested checks that "make test" tests each package of the workspace once. Only "make test" says which
// part has a package; nothing fails if none has it.
func TestEveryPackageIsTested(t *testing.T) {
	t.Setenv("MAKEFLAGS", "") // those of the make that runs this test
	got := packages(command(t, "make", "-s", "--no-print-directory", "-C", "../..", "tested"))
	want := packages(command(t, "go", "list", "work"))
	if len(want) < 100 || !slices.Equal(got, want) {
		t.Errorf("make test has %d packages, the workspace %d; of one alone: %q", len(got), len(want), onlyOne(got, want))
	}
}

// packages returns the packages that an output names, sorted; make and go have remarks besides.
func packages(out string) (names []string) {
	for _, name := range strings.Fields(out) {
		if strings.HasPrefix(name, module) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// onlyOne returns what is in one list and not in the other.
func onlyOne(a, b []string) (out []string) {
	for _, x := range [][2][]string{{a, b}, {b, a}} {
		for _, s := range x[0] {
			if !slices.Contains(x[1], s) {
				out = append(out, s)
			}
		}
	}
	return out
}
