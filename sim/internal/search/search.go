// Package search decides which plans are tried: every single fault, then plans of several, drawn at random. These are
// pairs, and plans that were tried with one fault more, at a point that only they have made.
//
//	reference ──▶ points ──▶ single faults ──▶ passes: one fault for each step ──▶ a pass fails: its faults, each alone
//	                                              │
//	                                              └──▶ pairs, and deeper plans, drawn by a seed
//
// A pass is a run in which each step meets a fault of its own. After each step the state has to be that of the
// reference: then the fault has left nothing behind, and the next one begins where it would have begun alone.
package search

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// Result is what came of a plan.
type Result struct {
	Plan    plan.Plan
	Outcome *world.Outcome
	// Failures says what is wrong; nil: nothing.
	Failures []string
	// FailedStep is the step at whose end it showed.
	FailedStep int
}

// Met reports whether all faults of the plan happened.
func (r Result) Met() bool {
	return !slices.Contains(r.Outcome.Met, false)
}

// Options configures a search.
type Options struct {
	// Points are those of the run without faults.
	Points Points
	// Run runs a plan and judges it. It is called by several goroutines.
	Run func(plan.Plan) Result
	// Workers is how many plans run at a time.
	Workers int
	// Stop is how many failing plans end the search; zero: none do.
	Stop int
	// Progress is called after each run, one call at a time. It may be nil.
	Progress func(Counts)
}

// Counts are the runs and plans of a search.
type Counts struct {
	Faults, Done int // single faults, and those that have been tried
	Pairs        int // plans of two or more faults
	Runs         int
	Failed       int
}

// Search has what was found. It is safe for concurrent use.
type Search struct {
	o Options

	mu       sync.Mutex
	counts   Counts
	failures []Result
	ends     map[plan.Fault]simreport.End
	known    map[plan.Point]bool // those of the run without faults
	found    found
	passing  bool // the plans are passes
}

// New returns a search.
func New(o Options) *Search {
	s := &Search{o: o, ends: map[plan.Fault]simreport.End{}, known: map[plan.Point]bool{}}
	for _, at := range o.Points.All {
		s.known[at] = true
	}
	return s
}

// End returns how a single fault ended.
func (s *Search) End(f plan.Fault) simreport.End {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ends[f]
}

// Counts returns the counts so far.
func (s *Search) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// Failures returns the plans that failed, in the order in which they were tried.
func (s *Search) Failures() []Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures
}

// stopped reports whether enough has failed.
func (s *Search) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.Stop > 0 && len(s.failures) >= s.o.Stop
}

// Singles tries every fault.
func (s *Search) Singles(faults []plan.Fault, steps int) {
	s.mu.Lock()
	s.counts.Faults += len(faults)
	s.passing = true
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.passing = false; s.mu.Unlock() }()
	var again []plan.Fault
	var mu sync.Mutex
	s.each(passes(faults, steps), func(p plan.Plan) {
		r := s.run(p)
		left := s.after(r)
		mu.Lock()
		again = append(again, left...)
		mu.Unlock()
	})
	alone := make([]plan.Plan, len(again))
	for i, f := range again {
		alone[i] = plan.Plan{f}
	}
	s.each(alone, func(p plan.Plan) {
		s.single(s.run(p))
	})
}

// after notes what a pass has shown. It returns the faults that have to be tried alone.
func (s *Search) after(r Result) (again []plan.Fault) {
	if len(r.Plan) == 1 {
		s.single(r)
		return nil
	}
	for i, f := range r.Plan {
		if len(r.Failures) > 0 || !r.Outcome.Met[i] {
			again = append(again, f)
			continue
		}
		s.ended(f, simreport.Passed)
	}
	return again
}

// single notes what a fault alone has shown.
func (s *Search) single(r Result) {
	s.judge(r)
	switch {
	case len(r.Failures) > 0:
		s.ended(r.Plan[0], simreport.Failed)
	case !r.Met():
		s.ended(r.Plan[0], simreport.NotMet)
	default:
		s.ended(r.Plan[0], simreport.Passed)
	}
}

func (s *Search) ended(f plan.Fault, e simreport.End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Done++
	s.ends[f] = e
}

// judge notes a failing plan.
func (s *Search) judge(r Result) {
	if len(r.Failures) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Failed++
	s.failures = append(s.failures, r)
}

// run runs a plan and counts it.
func (s *Search) run(p plan.Plan) Result {
	r := s.o.Run(p)
	s.learn(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Runs++
	if s.o.Progress != nil {
		s.o.Progress(s.counts)
	}
	return r
}

// each calls do for plans, several at a time, until enough has failed.
func (s *Search) each(plans []plan.Plan, do func(plan.Plan)) {
	next := make(chan plan.Plan)
	var all sync.WaitGroup
	for range max(1, s.o.Workers) {
		all.Go(func() {
			for p := range next {
				do(p)
			}
		})
	}
	for _, p := range plans {
		if s.stopped() {
			break
		}
		next <- p
	}
	close(next)
	all.Wait()
}

// passes combines faults to plans with at most one for each step. The order of the faults is kept within a step.
func passes(faults []plan.Fault, steps int) (out []plan.Plan) {
	left := make([][]plan.Fault, steps+1) // by step
	n := len(faults)
	for _, f := range faults {
		left[f.At.Step] = append(left[f.At.Step], f)
	}
	for n > 0 {
		var p plan.Plan
		for step := 0; step <= steps; step++ {
			if len(left[step]) == 0 {
				continue
			}
			f := left[step][0]
			left[step] = left[step][1:]
			p = append(p, f)
			n--
			step = f.Last()
		}
		out = append(out, p)
	}
	return out
}

// Pairs tries n pairs of faults, drawn by a seed. Faults that fail alone are left out.
func (s *Search) Pairs(faults []plan.Fault, n int, seed uint64) {
	bad := map[plan.Fault]bool{}
	for _, r := range s.Failures() {
		for _, f := range r.Plan {
			bad[f] = true
		}
	}
	var good []plan.Fault
	for _, f := range faults {
		if !bad[f] {
			good = append(good, f)
		}
	}
	if len(good) < 2 {
		return
	}
	random := rand.New(rand.NewPCG(seed, 1))
	plans := make([]plan.Plan, 0, n)
	for range n {
		i, j := random.IntN(len(good)), random.IntN(len(good)-1)
		if j >= i {
			j++
		}
		plans = append(plans, plan.Plan{good[min(i, j)], good[max(i, j)]})
	}
	s.tuples(plans)
}

// tuples tries plans of several faults.
func (s *Search) tuples(plans []plan.Plan) {
	s.each(plans, func(p plan.Plan) {
		s.judge(s.run(p))
		s.mu.Lock()
		s.counts.Pairs++
		s.mu.Unlock()
	})
}

// Smaller leaves faults out of a plan, one after the other, as long as the rest fails. It finds no plan for which two have
// to be left out at once.
func (s *Search) Smaller(r Result) Result {
	for i := 0; len(r.Plan) > 1 && i < len(r.Plan); {
		less := append(append(plan.Plan{}, r.Plan[:i]...), r.Plan[i+1:]...)
		if got := s.run(less); len(got.Failures) > 0 {
			r, i = got, 0
			continue
		}
		i++
	}
	return r
}
