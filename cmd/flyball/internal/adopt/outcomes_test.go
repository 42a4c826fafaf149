package adopt

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// outcome is what the tests of a scripted package do, and which of them pass.
type outcome struct {
	name   string
	passes []string // after the package's name
}

// outcomes are what a package of tests can come to. Its tests are TestA, TestB with the subtests x and y, and
// TestC. What happens, happens in TestB/y, unless it concerns all.
var outcomes = []outcome{
	{"pass", []string{"", " TestA", " TestB", " TestB/x", " TestB/y", " TestC"}},
	{"fail", []string{" TestA", " TestB/x", " TestC"}},
	{"skip", []string{"", " TestA", " TestB", " TestB/x", " TestC"}},
	{"skipall", []string{""}},
	{"panic", []string{" TestA", " TestB/x"}},
	{"exit0", []string{" TestA", " TestB/x"}},
	{"exit1", []string{" TestA", " TestB/x"}},
	{"timeout", []string{" TestA", " TestB/x"}},
	{"goexit", []string{" TestA", " TestB/x"}}, // a panic, for Go
	{"missing", []string{"", " TestA", " TestB", " TestB/x", " TestC"}},
	{"main", []string{""}}, // TestMain runs none, and ends well
	{"failmain", []string{" TestA", " TestB", " TestB/x", " TestB/y", " TestC"}},
	{"unbuilt", nil},
}

// scripted are the tests of a package, whose outcome is the content of the file outcome.
const scripted = `package p

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func outcome() string {
	name, err := os.ReadFile("outcome")
	if err != nil {
		panic(err)
	}
	return string(name)
}

func TestMain(m *testing.M) {
	if outcome() == "main" {
		return
	}
	code := m.Run()
	if outcome() == "failmain" {
		code = 3
	}
	os.Exit(code)
}

func all(t *testing.T) {
	if outcome() == "skipall" {
		t.Skip("not here")
	}
}

func TestA(t *testing.T) { all(t) }

func TestB(t *testing.T) {
	all(t)
	t.Run("x", func(*testing.T) {})
	if outcome() == "missing" {
		return
	}
	t.Run("y", func(t *testing.T) {
		switch outcome() {
		case "fail":
			t.Error("no")
		case "skip":
			t.Skip("not now")
		case "panic":
			panic("no")
		case "exit0", "exit1":
			os.Exit(int(outcome()[4] - '0'))
		case "timeout":
			time.Sleep(time.Hour)
		case "goexit":
			runtime.Goexit()
		}
	})
}

func TestC(t *testing.T) { all(t) }
`

// scriptedModule writes a module with a package for each pair of a name and an outcome.
func scriptedModule(t *testing.T, packages map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module m\n\ngo 1.25\n")
	for name, outcome := range packages {
		put(t, filepath.Join(dir, name, "p.go"), "package p\n")
		put(t, filepath.Join(dir, name, "p_test.go"), scripted)
		put(t, filepath.Join(dir, name, "outcome"), outcome)
		if outcome == "unbuilt" {
			put(t, filepath.Join(dir, name, "p_test.go"), scripted+"\nvar _ = nowhere\n")
		}
	}
	return dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// stream returns what "go test -json" says of packages with these outcomes.
func stream(t *testing.T, packages map[string]string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-count=1", "-vet=off", "-timeout=2s", "./...")
	cmd.Dir = scriptedModule(t, packages)
	cmd.Env = environment(cmd.Dir)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || len(out) == 0 {
		t.Fatal(err, exit)
	}
	return out
}

// A change has broken exactly what passed before and does not pass with it: whatever else has become of it, and
// whatever else had failed before.
func TestBrokenIsWhatPassedAndDoesNot(t *testing.T) {
	tier.Audit(t, "runs the go command")
	packages := map[string]string{}
	for _, o := range outcomes {
		packages[o.name] = o.name
	}
	lines := bytes.SplitAfter(stream(t, packages), []byte("\n"))
	// read reads what was said of the package of one outcome, as if the package were named so.
	read := func(r *report, outcome, name string) {
		for _, line := range lines {
			for _, field := range []string{`"Package":"m/`, `"ImportPath":"m/`} {
				for _, end := range []string{`"`, ` [`} {
					line = bytes.Replace(line, []byte(field+outcome+end), []byte(field+name+end), 1)
				}
			}
			if bytes.Contains(line, []byte(`"m/`+name)) {
				r.read(line)
			}
		}
	}
	check := func(before, after []outcome) {
		was, is := newReport(), newReport()
		var want []string
		for i := range before {
			name := "tested" + string(rune('a'+i))
			read(was, before[i].name, name)
			read(is, after[i].name, name)
			for _, test := range before[i].passes {
				if !slices.Contains(after[i].passes, test) {
					want = append(want, "m/"+name+test)
				}
			}
		}
		var got []string
		for _, b := range is.broken(was) {
			got = append(got, b.Name)
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v, then %v: %q, want %q", before, after, got, want)
		}
	}
	for _, before := range outcomes {
		for _, after := range outcomes {
			check([]outcome{before}, []outcome{after})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var before, after []outcome
		for range 2 + r.IntN(3) {
			before = append(before, outcomes[r.IntN(len(outcomes))])
			after = append(after, outcomes[r.IntN(len(outcomes))])
		}
		check(before, after)
	}
}

// The same from end to end: a module is tested twice, and what its packages do changes meanwhile.
func TestTrialComparesWhatPassed(t *testing.T) {
	tier.Audit(t, "runs the go command")
	pairs := map[string][2]string{
		"a": {"pass", "pass"}, "b": {"fail", "pass"}, "c": {"fail", "fail"}, "d": {"fail", "panic"}, "e": {"pass", "skip"},
		"f": {"pass", "main"}, "g": {"pass", "exit0"}, "h": {"skip", "missing"}, "i": {"panic", "fail"},
	}
	first := map[string]string{}
	for name, pair := range pairs {
		first[name] = pair[0]
	}
	o := &Options{Progress: io.Discard}
	tr := &trial{o: o, dir: scriptedModule(t, first), tests: true}
	if err := tr.run(t.Context(), "before"); err != nil {
		t.Fatal(err)
	}
	for name, pair := range pairs {
		put(t, filepath.Join(tr.dir, name, "outcome"), pair[1])
	}
	err := tr.run(t.Context(), "after")
	e, ok := errors.AsType[*BrokenError](err)
	if !ok {
		t.Fatal(err)
	}
	want := []string{"m/d TestC", "m/e TestB/y", "m/f TestA", "m/f TestB/x", "m/f TestB/y", "m/f TestC", "m/g TestB/y", "m/g TestC"}
	if !slices.Equal(e.Tests, want) {
		t.Errorf("%q, want %q", e.Tests, want)
	}
	if text := err.Error(); !strings.Contains(text, "m/d TestC does not run") || !strings.Contains(text, "m/e TestB/y is skipped") {
		t.Error(text)
	}
}
