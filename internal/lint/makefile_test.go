package lint

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	phony    = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
	makeText = regexp.MustCompile(`(?m)^([a-z0-9-]+):.* ## `)
	groups   = regexp.MustCompile(`split\("(every day: [^"]*)", group`)
	makeRule = regexp.MustCompile(`(?m)^([a-z0-9-]+):(?: [^=\n]*)?\n\t`)
)

// TestMakeTargets checks that each phony target has commands: make does nothing for others, and reports no error.
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

// makeCalled is a command of make in a text.
var makeCalled = regexp.MustCompile("`make ([a-z0-9-]+)")

// TestDocumentsNameTargets checks that the commands of make in the documents of this repository are targets.
func TestDocumentsNameTargets(t *testing.T) {
	targets := strings.Fields(phony.FindStringSubmatch(document(t, "Makefile"))[1])
	found := 0
	for _, name := range []string{"CONTRIBUTING.md", "ARCHITECTURE.md", "lab/README.md", "lab/bench/README.md"} {
		for _, m := range makeCalled.FindAllStringSubmatch(document(t, name), -1) {
			if found++; !slices.Contains(targets, m[1]) {
				t.Errorf("%s: make %s is no target", name, m[1])
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d commands: the search is broken", found)
	}
}

// TestTheGateTestsEachModule checks that each module of the workspace has a target that the gate calls. By their folders,
// "make test" has the root and the samples, "make programs" the adapters and the tool; the laboratory is compiled only.
func TestTheGateTestsEachModule(t *testing.T) {
	_, uses, _ := strings.Cut(document(t, "go.work"), "use (\n")
	uses, _, found := strings.Cut(uses, ")")
	if !found {
		t.Fatal("go.work: no list of modules")
	}
	for _, folder := range strings.Fields(uses) {
		top, _, _ := strings.Cut(strings.TrimPrefix(folder, "./"), "/")
		if !slices.Contains([]string{".", "examples", "cmd", "adapter", "lab"}, top) {
			t.Errorf("go.work: no target of the gate tests the module %s: the Makefile filters modules by their folders", folder)
		}
	}
}
