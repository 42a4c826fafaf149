package simreport_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/flyball-io/flyball/internal/simreport"
)

// What was written is read again, in the order of packages and tests. A file that is cut or of another version is named,
// and takes nothing from the others.
func TestReports(t *testing.T) {
	dir := t.TempDir()
	full := &simreport.Report{Format: simreport.Format, Test: "TestB", Package: "p", Dir: "/x", Steps: []string{"apply"}, Done: true, Seconds: 1.5, Problems: []string{"x"},
		Singles: 4, SinglesTried: 3, Pairs: 2, Seed: 9, Budget: time.Minute, Runs: 7, Failed: 1, Kept: 1, Replayed: "none", Until: time.Unix(1, 0).UTC(),
		Points: []simreport.Point{{Kind: "write", Program: "o", Step: 1, Verb: "create", Object: "pods/a", Nth: 2, Tries: []simreport.Try{{Fault: "lag", Until: 2, End: simreport.Failed}}}},
		Counts: map[string]int{"write": 1}, Left: 1, StoriesLeft: 1,
		Stories: []simreport.Story{{Plan: "p", Problems: []string{"y"}, Replay: "go test", Run: simreport.Trace{Before: 1, Cut: 2, CutAt: 3, Entries: []simreport.Entry{{At: 5, Step: 1, Lane: "view", Text: "t", Version: 3, Body: 1 << 63, Fault: true}}}}}}
	for name, r := range map[string]*simreport.Report{"a": full, "b": {Format: simreport.Format, Package: "p", Test: "TestA"}, "c": {Format: simreport.Format, Package: "o", Test: "TestC"}} {
		if err := r.Write(filepath.Join(dir, name+".json")); err != nil {
			t.Fatal(err)
		}
	}
	all, err := simreport.ReadAll(dir)
	if err != nil || len(all) != 3 || all[0].Test != "TestC" || all[1].Test != "TestA" || !reflect.DeepEqual(all[2], full) {
		t.Fatalf("%v, %+v", err, all)
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cut": string(text[:len(text)/2]), "empty": "", "other": `{"Format": 0}`} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err = simreport.ReadAll(dir)
	if len(all) != 3 || err == nil {
		t.Fatalf("%d reports, %v", len(all), err)
	}
	for _, want := range []string{"cut.json is cut or broken", "empty.json is cut or broken", "other.json is of another version of Flyball"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// A report that cannot be written leaves nothing, and the one before it.
func TestWriteFails(t *testing.T) {
	if err := new(simreport.Report).Write(filepath.Join(t.TempDir(), "none", "a.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 世 →":       "plain ü 世 →",
		"two\nlines\tx":     "two\nlines\tx",
		"\x1b[31mred\x00":   `\u001b[31mred\u0000`,
		"a\u202egpj.exe":    `a\u202egpj.exe`,
		"zero\u200bwidth":   `zero\u200bwidth`,
		"\xff\xfe":          `\ufffd\ufffd`,
		"0123456789":        "0123456789",
		"0123456789abcdefx": "0123456789abcdef…",
		"0123456789abcd→":   "0123456789abcd…",
	} {
		if got := simreport.Visible(in, 16); len(in) <= 16 && got != want || len(in) > 16 && (got != want || !utf8.ValidString(got)) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
