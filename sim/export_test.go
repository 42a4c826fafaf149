package sim

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/shared"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
)

// StuckAfter shortens how long a run may do nothing.
func StuckAfter(t *testing.T, d time.Duration) {
	was := stuckAfter
	stuckAfter = d
	t.Cleanup(func() { stuckAfter = was })
}

// Found is what a search has found.
type Found struct {
	search.Counts
	// Stories are those of the plans that failed, and Plans the plans.
	Stories, Plans []string
}

// Find searches for n plans that fail, by single faults and pairs. The error is that of the run without faults.
func Find(t *testing.T, s Scenario, n, pairs int) (Found, error) {
	t.Helper()
	defer shared.ServeOutside()()
	c, err := newChecker(t.Context(), s)
	if err == nil {
		err = c.refer(t)
	}
	if err != nil {
		return Found{}, err
	}
	of := &part{1, 1}
	if n == 0 { // it does not search for something that is there
		of = partFlag
	}
	found := c.searched(t, of, n, pairs)
	out := Found{Counts: found.Counts()}
	for _, r := range found.Failures() {
		r = found.Smaller(r)
		out.Stories, out.Plans = append(out.Stories, c.story(t, r)), append(out.Plans, r.Plan.String())
	}
	return out, nil
}

// Refer runs a scenario without faults.
func Refer(t *testing.T, s Scenario) error {
	t.Helper()
	defer shared.ServeOutside()()
	c, err := newChecker(t.Context(), s)
	if err == nil {
		err = c.refer(t)
	}
	return err
}

// Traces runs each plan n times, and returns the traces.
func Traces(t *testing.T, s Scenario, plans []string, n int) (out [][]string) {
	t.Helper()
	all := make([][][]string, len(plans))
	EachPlan(t, s, plans, n, func(i int, traces [][]string) { all[i] = traces })
	return slices.Concat(all...)
}

// EachPlan runs each plan n times, some plans beside each other, and calls do with the number of the plan and the traces.
func EachPlan(t *testing.T, s Scenario, plans []string, n int, do func(i int, traces [][]string)) {
	t.Helper()
	defer shared.ServeOutside()()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	c, err := newChecker(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(plans); i = int(next.Add(1)) - 1 {
				p, err := plan.Parse(plans[i])
				if err != nil {
					t.Error(err)
					return
				}
				traces := make([][]string, n)
				for run := range traces {
					for _, e := range c.bubble(t, c.config(p)).Trace {
						traces[run] = append(traces[run], e.String())
					}
				}
				do(i, traces)
			}
		})
	}
	workers.Wait()
}

// Plans returns n plans of the scenario: every so many of its single faults, and if there are fewer, pairs and triples.
func Plans(t *testing.T, s Scenario, n int) (out []string) {
	t.Helper()
	faults := singles(t, s)
	for i := 0; i < len(faults); i += max(1, len(faults)/n) {
		out = append(out, plan.Plan{faults[i]}.String())
	}
	random := rand.New(rand.NewPCG(1, 3))
	for len(out) < n {
		var p plan.Plan
		for range 2 + random.IntN(2) {
			p = append(p, faults[random.IntN(len(faults))])
		}
		out = append(out, p.String())
	}
	return out
}

func singles(t *testing.T, s Scenario) []plan.Fault {
	t.Helper()
	defer shared.ServeOutside()()
	c, err := newChecker(t.Context(), s)
	if err == nil {
		err = c.refer(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.points().Singles()
}

// FindBy searches for a plan that fails, by single faults of one kind.
func FindBy(t *testing.T, s Scenario, kind string) (Found, error) {
	t.Helper()
	defer shared.ServeOutside()()
	c, err := newChecker(t.Context(), s)
	if err == nil {
		err = c.refer(t)
	}
	if err != nil {
		return Found{}, err
	}
	var faults []plan.Fault
	for _, f := range c.points().Singles() {
		if string(f.Kind) == kind {
			faults = append(faults, f)
		}
	}
	found := search.New(search.Options{Run: func(p plan.Plan) search.Result { return c.run(t, p) }, Stop: 1})
	found.Singles(faults, len(c.Steps))
	out := Found{Counts: found.Counts()}
	for _, r := range found.Failures() {
		out.Stories, out.Plans = append(out.Stories, c.story(t, r)), append(out.Plans, r.Plan.String())
	}
	return out, nil
}

// AllPlans returns the plan of each single fault of a scenario.
func AllPlans(t *testing.T, s Scenario) (out []string) {
	t.Helper()
	for _, f := range singles(t, s) {
		out = append(out, plan.Plan{f}.String())
	}
	return out
}

// Small says that scenarios are smaller: outside of the audit, and with the race detector.
var Small = defaultPart != "1/1" || !tier.InAudit()

// Drawn is what an exploration has found.
type Drawn struct {
	Sequences, Objects, Refused, Runs int
	// Stories are those of the sequences that failed, made smaller, and Lines the sequences.
	Stories, Lines []string
}

// Draw explores n sequences, until one has failed.
func Draw(t *testing.T, e Exploration, n int) (Drawn, error) {
	t.Helper()
	defer shared.ServeOutside()()
	x, err := newExplorer(t.Context(), e)
	if err == nil {
		err = x.refer(t)
	}
	if err != nil {
		return Drawn{}, err
	}
	failures, err := x.searched(t, 1, n)
	if err != nil {
		return Drawn{}, err
	}
	out := Drawn{Sequences: x.counts.sequences, Objects: x.counts.objects, Refused: x.counts.refused, Runs: x.counts.runs}
	for _, co := range failures {
		co, c, r := x.smaller(t, co)
		out.Stories, out.Lines = append(out.Stories, c.story(t, r)), append(out.Lines, co.String())
	}
	return out, nil
}

// DrawnLines returns the sequences that a seed draws.
func DrawnLines(t *testing.T, e Exploration, n int, seed uint64) (out []string) {
	t.Helper()
	defer shared.ServeOutside()()
	x, err := newExplorer(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	all, err := x.draws(t, n, seed)
	if err != nil {
		t.Fatal(err)
	}
	for _, co := range all {
		out = append(out, co.String())
	}
	return out
}
