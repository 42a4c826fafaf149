package sim_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/sim"
)

func shrinks(fixed bool) sim.Exploration {
	i := slices.IndexFunc(bugsOfObjects, func(b badly) bool { return b.name == "shrink" })
	return exploration(bugsOfObjects[i].reconcile(fixed))
}

// TestExploredChild is the exploration of a program with a bug, for TestSequencesAreKept.
func TestExploredChild(t *testing.T) {
	how := os.Getenv("SIM_KEPT")
	if how == "" {
		t.Skip("it is run by TestSequencesAreKept")
	}
	e := shrinks(how == "fixed")
	for _, path := range []*string{&e.From, &e.Scenario.CRDs} {
		var err error
		if *path, err = filepath.Abs(*path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chdir(os.Getenv("SIM_DIR")); err != nil {
		t.Fatal(err)
	}
	sim.Explore(t, e)
}

// What goes wrong is told with a line that repeats it, and kept. The kept sequences are tried first; one that the server
// refuses today is an error.
func TestSequencesAreKept(t *testing.T) {
	dir := t.TempDir()
	explore := func(how string, flags ...string) (string, bool) {
		c := exec.Command(os.Args[0], append([]string{"-test.run=^TestExploredChild$", "-test.v"}, flags...)...)
		c.Env = append(os.Environ(), "SIM_KEPT="+how, "SIM_DIR="+dir)
		out, err := c.CombinedOutput()
		return string(out), err == nil
	}
	out, ok := explore("bug", "-sim.sequences=20")
	file := filepath.Join(dir, "testdata", "sim", "TestExploredChild.txt")
	text, err := os.ReadFile(file)
	if ok || err != nil {
		t.Fatalf("passed: %v, %v\n%s", ok, err, out)
	}
	line := strings.Split(string(text), "\n")[1]
	again := "again: go test -run '^TestExploredChild$' -sim.replay='" + line + "'"
	for _, want := range []string{"sim: " + line + "\n", "is left over, and not when the object is made at once", again} {
		if !strings.Contains(out, want) {
			t.Errorf("the story lacks %q:\n%s", want, out)
		}
	}
	if out, ok := explore("bug", "-sim.replay="+line); ok || !strings.Contains(out, again) {
		t.Errorf("replayed: %v\n%s", ok, out)
	}
	if out, ok := explore("fixed", "-sim.replay="+line); !ok || !strings.Contains(out, "nothing is wrong") {
		t.Errorf("replayed, fixed: %v\n%s", ok, out)
	}
	if out, ok := explore("fixed", "-sim.sequences=2"); !ok || !strings.Contains(out, "2 sequences") {
		t.Errorf("fixed: %v\n%s", ok, out)
	}
	for line, want := range map[string]string{
		`[{"set":{"/spec/size":9}}]`:               "TestExploredChild.txt:1: no longer reachable", // more than the maximum
		`[{},null] timeout@1:create:secrets/x/y`:   "TestExploredChild.txt:1: no longer reachable",
		`timeout@1:create:secrets/default/a-0`:     "it begins with a list of edits",
		`[{},null] timeout`:                        "KIND@POINT",
		`[{}] crash-after@1:create:secrets/nobody`: "no longer reachable",
	} {
		if err := os.WriteFile(file, []byte(line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, ok := explore("fixed"); ok || !strings.Contains(out, want) {
			t.Errorf("%s: passed: %v, want %q\n%s", line, ok, want, out)
		}
	}
}

// A seed draws the same sequences each time, another seed others. What the server refuses, here by CEL, is none of them.
func TestSequencesAreDrawnBySeed(t *testing.T) {
	e := shrinks(true)
	one, again, other := sim.DrawnLines(t, e, 60, 7), sim.DrawnLines(t, e, 60, 7), sim.DrawnLines(t, e, 60, 8)
	if !slices.Equal(one, again) {
		t.Error("one seed draws other sequences the second time")
	}
	if slices.Equal(one, other) {
		t.Error("two seeds draw the same")
	}
	cached, deleted, enums := 0, 0, map[string]bool{}
	for _, line := range slices.Concat(one, other) {
		var states []*struct {
			Set    map[string]any
			Remove []string
		}
		if err := json.Unmarshal([]byte(line), &states); err != nil {
			t.Fatal(err)
		}
		if len(states) < 2 || states[len(states)-1] != nil {
			t.Errorf("%s does not end with a deletion", line)
		}
		for i, s := range states {
			if s == nil {
				if i < len(states)-1 {
					deleted++
				}
				continue
			}
			if mode, ok := s.Set["/spec/mode"].(string); ok {
				enums[mode] = true
			}
			if s.Set["/spec/cache"] != nil {
				if cached++; s.Set["/spec/size"] == 0.0 {
					t.Errorf("%s breaks the rule that there is something to cache for", line)
				}
			}
		}
	}
	if cached == 0 || deleted == 0 || len(enums) != 2 {
		t.Errorf("%d objects have a cache, %d are deleted in the midst, and modes are %v", cached, deleted, enums)
	}
}

// An exploration that cannot be used is a clear error.
func TestBadExplorations(t *testing.T) {
	good := shrinks(true)
	for want, change := range map[string]func(*sim.Exploration){
		"Scenario.Program":    func(e *sim.Exploration) { e.Scenario.Program = nil },
		"Exploration.From is": func(e *sim.Exploration) { e.From = "" },
		"no such file":        func(e *sim.Exploration) { e.From = "testdata/none.yaml" },
		"no definition among": func(e *sim.Exploration) { e.From = "testdata/explore/crd.yaml" },
		"spec.size":           func(e *sim.Exploration) { e.From = "testdata/explore/refused.yaml" },
		"step 1, patch":       func(e *sim.Exploration) { e.Scenario.Steps = []sim.Step{sim.Patch("secrets", "default/none", "{}")} },
	} {
		e := good
		change(&e)
		if _, err := sim.Draw(t, e, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// With History only deletions are compared: what stays of a former size goes with its owner.
func TestHistoryIsNotCompared(t *testing.T) {
	e := shrinks(false)
	e.History = true
	found, err := sim.Draw(t, e, 20)
	if err != nil || len(found.Stories) > 0 {
		t.Errorf("%v, %v", err, found.Stories)
	}
}
