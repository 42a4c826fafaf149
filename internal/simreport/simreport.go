// Package simreport is the report of one check of a simulation, as a file. sim.Check writes it, "flyball sim" reads it.
//
//	sim.Check ──Write, again and again──▶ FOLDER/TEST-*.json ──ReadAll──▶ flyball sim ──▶ progress, page
//
// A file is replaced as a whole. One whose report is not Done is of a check that still runs, or whose process has died.
package simreport

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FolderVariable is the environment variable with the folder of the reports, an absolute path.
const FolderVariable = "FLYBALL_SIM"

// Format is the number of this form of a report.
const Format = 1

// Report is what a check has done. Its writer bounds it, and all its texts have visible characters only.
type Report struct {
	Format int
	// Test is the name of the test. Package is its import path, and Dir its folder.
	Test, Package, Dir string
	Steps              []string
	// Done says that the check has ended, well or not.
	Done    bool
	Seconds float64
	// Problems are what is wrong besides the stories: a run without faults that fails, for instance.
	Problems []string
	// Singles is the number of single faults, and SinglesTried that of those that were tried.
	Singles, SinglesTried int
	// Pairs is the number of plans of several faults that were tried, drawn from Seed on. Budget bounds their time; zero: it does not.
	Pairs  int
	Seed   uint64
	Budget time.Duration
	// Runs counts the runs of the scenario, and Failed the plans that failed.
	Runs, Failed int
	// Kept is the number of plans from testdata/sim that were tried.
	Kept int
	// Replayed is the one plan that ran; "" if the check has searched.
	Replayed string
	// Until is the time at which the last plan was done.
	Until time.Time
	// Points are the choices of the run without faults. Counts has the number of all, by kind.
	Points []Point
	Counts map[string]int
	// Left is the number of points that are not in Points, since there are too many.
	Left    int
	Stories []Story
	// StoriesLeft is the number of plans that failed and have no story here.
	StoriesLeft int
}

// Kinds of points, in the order in which they are told.
var Kinds = []string{"write", "read", "event", "step"}

// Point is a choice of the run without faults: a call, an event, or the begin of a step.
type Point struct {
	Kind    string
	Program string `json:",omitempty"`
	Step    int
	Verb    string
	Object  string
	Nth     int
	Tries   []Try `json:",omitempty"`
}

// Try is a single fault at a point.
type Try struct {
	Fault string
	// Until is the step at whose end the fault is over; zero for faults that do not last.
	Until int `json:",omitempty"`
	End   End `json:",omitempty"`
}

// End is how a plan ended.
type End string

// The ends of a plan. NotTried is that of a search that has stopped before, and NotMet that of a fault whose point
// did not come.
const (
	NotTried End = ""
	Passed   End = "passed"
	Failed   End = "failed"
	NotMet   End = "not met"
)

// Story is one run that is told: its plan, what was wrong, and what happened.
type Story struct {
	Plan string
	// Problems is empty for a plan that was repeated and passed.
	Problems []string
	// Replay is the command that repeats the run, in the folder of the package.
	Replay string
	// Run is what happened from the step before the first fault on. Reference is the same part without faults.
	Run, Reference Trace
}

// Trace is a part of what happened in a run.
type Trace struct {
	Entries []Entry
	// Before is the number of entries that are left out before the first one; both traces have them. Cut is that of
	// entries that are left out before the entry with the index CutAt.
	Before, Cut, CutAt int
}

// Entry is one thing that happened.
type Entry struct {
	At   time.Duration // virtual time, since the begin
	Step int
	// Lane is whose doing it is: user, cluster, world, view, program, fault or wrong.
	Lane string
	Text string
	// Version is that of the object of an event, and Body a digest of what a call has sent. Zero: there is none.
	Version, Body uint64 `json:",omitempty"`
	// Fault says that a fault of the plan has happened here.
	Fault bool `json:",omitempty"`
}

// OK reports whether the check ended and found nothing.
func (r *Report) OK() bool { return r.Done && len(r.Problems) == 0 && r.Failed == 0 }

// Write replaces the file of a report.
func (r *Report) Write(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	tmp := file + ".new"
	err = os.WriteFile(tmp, text, 0o600)
	if err == nil {
		err = os.Rename(tmp, file)
	}
	if err != nil {
		_ = os.Remove(tmp) // the error is told
	}
	return err
}

// ReadAll reads the reports of a folder, in the order of packages and tests. The error names the files that cannot be
// read. The reports of the others come with it.
func ReadAll(folder string) (all []*Report, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		r, bad := read(file)
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, compare)
	return all, err
}

func read(file string) (*Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the report %s is cut or broken: %w", filepath.Base(file), err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("the report %s is of another version of Flyball: its format is %d, and %d is known", filepath.Base(file), r.Format, Format)
	}
	return &r, nil
}

func compare(a, b *Report) int {
	return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Test, b.Test))
}

// Visible returns a text without characters that change how others are shown. Of one that is longer than most bytes it
// returns the begin, and "…".
func Visible(text string, most int) string {
	cut := ""
	if len(text) > most {
		for most > 0 && !utf8.RuneStart(text[most]) {
			most--
		}
		text, cut = text[:most], "…"
	}
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || !unicode.Is(unicode.C, r) && r != utf8.RuneError {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String() + cut
}
