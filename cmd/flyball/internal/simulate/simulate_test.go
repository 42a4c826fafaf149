package simulate

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/simreport"
)

// However much a test prints, its end is kept.
func TestOutputIsBounded(t *testing.T) {
	r := &run{tests: map[string]*test{}}
	var in strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&in, `{"Action":"output","Package":"p","Test":"TestA/b","Output":"line %d\n"}`+"\n", i)
	}
	in.WriteString("# a line that is no JSON\n")
	r.read(strings.NewReader(in.String()))
	got := string(r.output("TestA"))
	if len(got) > 2*mostOutput+10 || len(got) < mostOutput || !strings.HasSuffix(got, "line 49999\n") {
		t.Errorf("%d bytes, the end is %q", len(got), got[max(0, len(got)-20):])
	}
	if string(r.building) != "# a line that is no JSON\n" {
		t.Errorf("%q", r.building)
	}
}

// The progress is that of the check that runs.
func TestProgress(t *testing.T) {
	r := &run{p: Package{Path: "example.com/a"}, folder: t.TempDir(), where: " (package 1 of 2)"}
	write := func(x simreport.Report) {
		t.Helper()
		x.Format = simreport.Format
		if err := x.Write(filepath.Join(r.folder, x.Test+".json")); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		write *simreport.Report
		want  string
	}{
		{nil, "building example.com/a (package 1 of 2)"},
		{&simreport.Report{Test: "TestA"}, "TestA: prepares; the first check of a machine takes 3 to 5 minutes (package 1 of 2)"},
		{&simreport.Report{Test: "TestA", Singles: 9, SinglesTried: 4, Runs: 2, Pairs: 1, Failed: 3}, "TestA: 4 of 9 single faults, 1 pairs, 3 failed (package 1 of 2)"},
		{&simreport.Report{Test: "TestA", Done: true}, "TestA: done (package 1 of 2)"},
		{&simreport.Report{Test: "TestB", Singles: 5, Runs: 1}, "TestB: 0 of 5 single faults, 0 pairs, 0 failed (package 1 of 2)"},
	} {
		if c.write != nil {
			write(*c.write)
		}
		if got := r.progress(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
