package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// The bounds of a report. What is left out is counted there, or ends with "…".
const (
	maxPoints   = 2000 // choices of the run without faults
	maxTold     = 20   // stories
	maxEntries  = 600  // entries of a trace: the first two thirds and the last third
	maxBefore   = 100  // entries before the first difference
	maxProblems = 20   // of a story, and of the check
	maxNames    = 200  // steps that are named
	maxText     = 500  // bytes of an entry or a name
	maxProblem  = 4000 // bytes of a problem
	maxPlan     = 4000 // bytes of a plan
)

// recorder tells "flyball sim" what a check does, by a file that it replaces from time to time. It also fails the test.
type recorder struct {
	t           *testing.T
	file        string // "": nobody asks
	began, told time.Time
	report      simreport.Report
}

// reports counts the reports of this process.
var reports atomic.Int64

var noFileName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// newRecorder begins the report of a check.
func newRecorder(t *testing.T, s Scenario) *recorder {
	t.Helper()
	r := &recorder{t: t, began: time.Now(), report: simreport.Report{Format: simreport.Format, Test: simreport.Visible(t.Name(), maxText), Seed: *seedFlag, Budget: *budgetFlag}}
	for i, step := range s.Steps {
		if i == maxNames {
			r.report.Steps = append(r.report.Steps, fmt.Sprintf("… %d more", len(s.Steps)-maxNames))
			break
		}
		r.report.Steps = append(r.report.Steps, simreport.Visible(step.name, maxText))
	}
	folder := os.Getenv(simreport.FolderVariable)
	if folder == "" {
		return r
	}
	dir, err := os.Getwd()
	if err != nil || !filepath.IsAbs(folder) {
		t.Errorf("%s is %q: it must be an absolute path (%v)", simreport.FolderVariable, folder, err)
		return r
	}
	r.report.Dir = dir
	if info, ok := debug.ReadBuildInfo(); ok {
		r.report.Package = strings.TrimSuffix(info.Path, ".test")
	}
	name := noFileName.ReplaceAllString(t.Name(), "_")
	r.file = filepath.Join(folder, fmt.Sprintf("%s-%d-%d.json", name[:min(len(name), 100)], os.Getpid(), reports.Add(1)))
	r.save()
	return r
}

// save replaces the file.
func (r *recorder) save() {
	if r.file == "" {
		return
	}
	r.told, r.report.Seconds = time.Now(), time.Since(r.began).Seconds()
	if err := r.report.Write(r.file); err != nil {
		r.t.Errorf("sim: the report for flyball sim cannot be written: %v", err)
		r.file = ""
	}
}

// end completes the report.
func (r *recorder) end() {
	r.report.Done = true
	r.save()
}

// error fails the test with a problem that is no story.
func (r *recorder) error(format string, args ...any) {
	r.t.Helper()
	r.t.Errorf("sim: "+format, args...)
	if len(r.report.Problems) < maxProblems {
		r.report.Problems = append(r.report.Problems, simreport.Visible(fmt.Sprintf(format, args...), maxProblem))
	}
}

// fatal ends the test with a problem.
func (r *recorder) fatal(format string, args ...any) {
	r.t.Helper()
	r.error(format, args...)
	r.end()
	r.t.FailNow()
}

// tell fails the test with the story of a plan.
func (c *checker) tell(t *testing.T, r search.Result) {
	t.Helper()
	t.Error(c.story(t, r))
	c.recorder.report.Failed++
	c.recorder.story(c, r)
}

// tellConfirmed is tell, with a remark if the plan ends otherwise in a process of its own.
func (c *checker) tellConfirmed(t *testing.T, r search.Result) {
	t.Helper()
	if remark := confirm(t, c.text(r.Plan)); remark != "" {
		r.Failures = append(r.Failures, remark)
	}
	c.tell(t, r)
}

// progress notes how far a search is, at most once a second. Nobody asks while r is nil.
func (r *recorder) progress(n search.Counts) {
	if r == nil || r.file == "" || time.Since(r.told) < time.Second {
		return
	}
	r.counts(n)
	r.save()
}

// counts notes how far a search is. It begins only when no kept plan has failed.
func (r *recorder) counts(n search.Counts) {
	o := &r.report
	o.Singles, o.SinglesTried, o.Pairs, o.Runs, o.Failed, o.Until = n.Faults, n.Done, n.Pairs, n.Runs, n.Failed, time.Now()
}

// searched notes what a search has tried, and how each single fault ended.
func (r *recorder) searched(c *checker, s *search.Search) {
	r.counts(s.Counts())
	tries := map[plan.Point][]simreport.Try{}
	for _, f := range c.points().Singles() {
		tries[f.At] = append(tries[f.At], simreport.Try{Fault: string(f.Kind), Until: f.Until, End: s.End(f)})
	}
	r.report.Counts = map[string]int{}
	for i, at := range c.reference.Points {
		kind := kindOf(at)
		r.report.Counts[kind]++
		if i >= maxPoints {
			r.report.Left++
			continue
		}
		r.report.Points = append(r.report.Points, simreport.Point{Kind: kind, Program: simreport.Visible(at.Program, maxText), Step: at.Step,
			Verb: simreport.Visible(at.Verb, maxText), Object: simreport.Visible(at.Object, maxText), Nth: at.Nth, Tries: tries[at]})
	}
}

// kindOf returns one of [simreport.Kinds].
func kindOf(at plan.Point) string {
	switch {
	case at.Verb == "begin", at.Verb == "rest":
		return "step"
	case at.Event():
		return "event"
	case at.Writes():
		return "write"
	}
	return "read"
}

// story adds the story of a run, from the step before the first fault on.
func (r *recorder) story(c *checker, got search.Result) {
	if len(r.report.Stories) == maxTold {
		r.report.StoriesLeft++
		return
	}
	s := simreport.Story{Plan: simreport.Visible(c.text(got.Plan), maxPlan), Replay: simreport.Visible(again(r.t.Name(), c.text(got.Plan)), maxPlan)}
	for i, f := range got.Failures {
		if i == maxProblems {
			s.Problems = append(s.Problems, fmt.Sprintf("… %d more", len(got.Failures)-i))
			break
		}
		s.Problems = append(s.Problems, simreport.Visible(f, maxProblem))
	}
	first, last := max(firstStep(got)-1, 0), len(c.Steps)
	if n := len(got.Outcome.Trace); n > 0 {
		last = got.Outcome.Trace[n-1].Step
	}
	run, reference := between(got.Outcome.Trace, first, last), between(c.reference.Trace, first, last)
	same := 0
	for same < min(len(run), len(reference)) && run[same] == reference[same] {
		same++
	}
	before := max(0, same-maxBefore)
	s.Run, s.Reference = traceOf(run, before), traceOf(reference, before)
	r.report.Stories = append(r.report.Stories, s)
}

// between returns the entries of some steps.
func between(trace []world.Entry, first, last int) (out []world.Entry) {
	for _, e := range trace {
		if e.Step >= first && e.Step <= last {
			out = append(out, e)
		}
	}
	return out
}

// traceOf returns a trace without its first entries, and without its middle if it is long.
func traceOf(entries []world.Entry, before int) simreport.Trace {
	out := simreport.Trace{Before: before}
	entries = entries[before:]
	if left := len(entries) - maxEntries; left > 0 {
		out.Cut, out.CutAt = left, maxEntries*2/3
	}
	for i, e := range entries {
		if i >= out.CutAt && i < out.CutAt+out.Cut {
			continue
		}
		text := e.Text
		if e.Where != "" {
			text += ", at " + e.Where
		}
		out.Entries = append(out.Entries, simreport.Entry{At: e.At, Step: e.Step, Lane: string(e.Lane), Text: simreport.Visible(text, maxText), Version: e.Version, Body: e.Body, Fault: e.Fault})
	}
	return out
}
