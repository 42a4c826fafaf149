package sim_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/sim"
)

// TestKeptChild is the check of a program with a bug, for TestPlansAreKept.
func TestKeptChild(t *testing.T) {
	how := os.Getenv("SIM_KEPT")
	if how == "" {
		t.Skip("it is run by TestPlansAreKept")
	}
	if err := os.Chdir(os.Getenv("SIM_DIR")); err != nil {
		t.Fatal(err)
	}
	sim.Check(t, sim.Scenario{Steps: inTurn, Program: program(func(m *flyball.Manager) error {
		return operator(m, secrets("tls", "tls-internal")(how == "fixed"))
	})})
}

// What goes wrong is told with a line that repeats it, and kept. The kept plans are tried first; one that meets nothing
// any more is an error.
func TestPlansAreKept(t *testing.T) {
	dir := t.TempDir()
	check := func(how string, flags ...string) (string, bool) { return keptChild(dir, "", how, flags...) }
	out, ok := check("bug")
	file := filepath.Join(dir, "testdata", "sim", "TestKeptChild.txt")
	text, err := os.ReadFile(file)
	if ok || err != nil || !strings.Contains(string(text), "\ncrash-after@1:create:secrets/default/a-tls\n") {
		t.Fatalf("passed: %v, %v\n%s\n%s", ok, err, text, out)
	}
	const again = `again: go test -run '^TestKeptChild$' -sim.replay='crash-after@1:create:secrets/default/a-tls'`
	for _, want := range []string{"sim: crash-after@1:create:secrets/default/a-tls", "secrets/default/a-tls-internal is missing", "what happened, from step 1 on", again} {
		if !strings.Contains(out, want) {
			t.Errorf("the story lacks %q:\n%s", want, out)
		}
	}
	if out, ok := check("bug", "-sim.replay=crash-after@1:create:secrets/default/a-tls"); ok || !strings.Contains(out, again) {
		t.Errorf("replayed: %v\n%s", ok, out)
	}
	if out, ok := check("fixed", "-sim.pairs=5"); !ok || !strings.Contains(out, "5 pairs") {
		t.Errorf("fixed: %v\n%s", ok, out)
	}
	if err := os.WriteFile(file, []byte("# one\n\ncrash-after@1:create:secrets/default/a-gone\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, ok := check("fixed"); ok || !strings.Contains(out, "TestKeptChild.txt:3: no longer reachable") {
		t.Errorf("what meets nothing: %v\n%s", ok, out)
	}
	if out, ok := check("fixed", "-sim.replay=nonsense"); ok || !strings.Contains(out, "KIND@POINT") {
		t.Errorf("a plan that cannot be read: %v\n%s", ok, out)
	}
}

// keptChild runs TestKeptChild in a folder. Its report goes to another one.
func keptChild(dir, reports, how string, flags ...string) (string, bool) {
	c := exec.Command(os.Args[0], append([]string{"-test.run=^TestKeptChild$", "-test.v", "-sim.part=1/1"}, flags...)...)
	c.Env = append(os.Environ(), "SIM_KEPT="+how, "SIM_DIR="+dir, simreport.FolderVariable+"="+reports)
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

// A check reports what it has tried, how each fault ended, and what happened after a plan that failed.
func TestChecksReport(t *testing.T) {
	dir := t.TempDir()
	run := func(how string, flags ...string) *simreport.Report {
		t.Helper()
		folder := t.TempDir()
		out, ok := keptChild(dir, folder, how, flags...)
		all, err := simreport.ReadAll(folder)
		if err != nil || len(all) != 1 {
			t.Fatalf("%d reports, %v\n%s", len(all), err, out)
		}
		r := all[0]
		if ok != r.OK() || !r.Done || r.Test != "TestKeptChild" || r.Package != "github.com/flyball-io/flyball/sim" || r.Dir != dir || r.Seconds <= 0 {
			t.Errorf("passed: %v; %+v\n%s", ok, r, out)
		}
		return r
	}

	r := run("fixed", "-sim.pairs=5", "-sim.seed=3")
	if r.Singles == 0 || r.SinglesTried != r.Singles || r.Pairs != 5 || r.Seed != 3 || r.Failed != 0 || r.Runs == 0 || r.Until.IsZero() || len(r.Stories) > 0 || len(r.Steps) != 2 {
		t.Errorf("of the mended program: %+v", r)
	}
	tries, counts := 0, map[string]int{}
	for _, p := range r.Points {
		counts[p.Kind]++
		for _, x := range p.Tries {
			if tries++; x.End != simreport.Passed {
				t.Errorf("%s at %+v: %q", x.Fault, p, x.End)
			}
		}
	}
	if tries != r.Singles || !maps.Equal(counts, r.Counts) || counts["write"] == 0 || counts["read"] == 0 || counts["event"] == 0 || counts["step"] != 2 {
		t.Errorf("%d tries, want %d; points %v, want %v", tries, r.Singles, counts, r.Counts)
	}

	r = run("bug")
	at := slices.IndexFunc(r.Stories, func(s simreport.Story) bool { return s.Plan == "crash-after@1:create:secrets/default/a-tls" })
	if at < 0 || r.Failed != len(r.Stories) {
		t.Fatalf("of the bug: %+v", r)
	}
	for _, p := range r.Points {
		for _, x := range p.Tries {
			if want := p.Verb == "create" && p.Object == "secrets/default/a-tls" && x.Fault == "crash-after"; want && x.End != simreport.Failed {
				t.Errorf("%s at %+v: %q", x.Fault, p, x.End)
			}
		}
	}
	s := r.Stories[at]
	if !slices.Equal(s.Problems, []string{"secrets/default/a-tls-internal is missing"}) || !strings.HasSuffix(s.Replay, "-sim.replay='"+s.Plan+"'") {
		t.Errorf("%+v", s)
	}
	// Both begin with the step before, are the same up to the fault, and end with the step that failed.
	fault := slices.IndexFunc(s.Run.Entries, func(e simreport.Entry) bool { return e.Fault })
	if fault < 1 || !slices.Equal(s.Run.Entries[:fault], s.Reference.Entries[:fault]) || s.Run.Entries[fault].Text == s.Reference.Entries[fault].Text {
		t.Fatalf("the fault is entry %d of %+v", fault, s.Run.Entries)
	}
	for _, entries := range [][]simreport.Entry{s.Run.Entries, s.Reference.Entries} {
		if first, last := entries[0], entries[len(entries)-1]; first.Step != 0 || last.Step != 1 || last.Text != "at rest" {
			t.Errorf("from %+v to %+v", first, last)
		}
	}

	// Kept plans are tried first, and a plan that is repeated has a story, too.
	if r := run("bug"); r.Kept == 0 || r.Failed == 0 || r.Singles != 0 {
		t.Errorf("kept: %+v", r)
	}
	if r := run("fixed", "-sim.replay="+s.Plan); r.Replayed != s.Plan || len(r.Stories) != 1 || len(r.Stories[0].Problems) > 0 || len(r.Stories[0].Run.Entries) == 0 {
		t.Errorf("repeated: %+v", r)
	}
	if r := run("fixed", "-sim.replay=nonsense"); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "KIND@POINT") {
		t.Errorf("nonsense: %+v", r)
	}
}

// A report that cannot be written fails the test, with a reason.
func TestReportsThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for folder, want := range map[string]string{"relative": "must be an absolute path", filepath.Join(dir, "none"): "cannot be written"} {
		if out, ok := keptChild(dir, folder, "fixed", "-sim.pairs=0"); ok || !strings.Contains(out, want) {
			t.Errorf("%s: %v, want %q\n%s", folder, ok, want, out)
		}
	}
}
