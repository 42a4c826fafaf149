package search

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/world"
)

func drawFaults(r *rapid.T, steps int) (out []plan.Fault) {
	for i := range rapid.IntRange(0, 40).Draw(r, "faults") {
		f := plan.Fault{Kind: plan.Conflict, At: plan.Point{Step: rapid.IntRange(0, steps).Draw(r, "step"), Verb: "update", Object: fmt.Sprint("pods/", i), Nth: 1}}
		if rapid.Bool().Draw(r, "lasts") {
			f.Kind, f.Until = plan.Lag, rapid.IntRange(f.At.Step, steps).Draw(r, "until")
		}
		out = append(out, f)
	}
	return out
}

// Passes have each fault once, and at each step at most one that is not over.
func TestPassesHaveEachFaultOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.IntRange(1, 6).Draw(r, "steps")
		faults := drawFaults(r, steps)
		count := map[plan.Fault]int{}
		for _, p := range passes(faults, steps) {
			if len(p) == 0 {
				r.Fatal("an empty pass")
			}
			over := -1
			for _, f := range p {
				if f.At.Step <= over {
					r.Fatalf("%v: %v begins before another one is over", p, f)
				}
				over = max(f.At.Step, f.Until)
				count[f]++
			}
		}
		for _, f := range faults {
			if count[f] != 1 {
				r.Fatalf("%v is in %d passes", f, count[f])
			}
		}
		if len(count) != len(faults) {
			r.Fatalf("%d faults, want %d", len(count), len(faults))
		}
	})
}

// The search finds just the faults that fail alone, whichever they are, also where a pass hides one behind another or
// does not meet it. A pair that fails is made as small as it can be.
func TestSearchFindsWhatFails(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.IntRange(1, 5).Draw(r, "steps")
		faults := drawFaults(r, steps)
		bad, hides := map[plan.Fault]bool{}, map[plan.Fault]bool{}
		for _, f := range faults {
			bad[f] = rapid.IntRange(0, 9).Draw(r, "bad") == 0
			hides[f] = rapid.IntRange(0, 4).Draw(r, "hides") == 0
		}
		s := New(Options{Workers: rapid.IntRange(1, 4).Draw(r, "workers"), Run: func(p plan.Plan) Result {
			out := Result{Plan: p, Outcome: &world.Outcome{Met: make([]bool, len(p))}}
			hidden := false
			for i, f := range p {
				if out.Outcome.Met[i] = !hidden; !hidden && bad[f] {
					out.Failures = append(out.Failures, f.String())
				}
				hidden = hidden || hides[f]
			}
			return out
		}})
		s.Singles(faults, steps)
		var got, want []string
		for _, f := range s.Failures() {
			if len(f.Plan) != 1 {
				r.Fatalf("%v is no single fault", f.Plan)
			}
			got = append(got, f.Plan.String())
		}
		for _, f := range faults {
			if bad[f] {
				want = append(want, plan.Plan{f}.String())
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if n := s.Counts(); !slices.Equal(got, want) || n.Done != len(faults) || n.Failed != len(want) {
			r.Fatalf("found %v, want %v; %+v", got, want, n)
		}
		for i, f := range faults {
			if got := s.End(f) == simreport.Failed; got != bad[f] || !got && s.End(f) != simreport.Passed {
				r.Fatalf("%v has ended as %q", f, s.End(f))
			}
			if bad[f] && len(faults) > 1 {
				other := faults[(i+1)%len(faults)]
				if small := s.Smaller(s.run(plan.Plan{f, other})); !bad[other] && small.Plan.String() != (plan.Plan{f}).String() {
					r.Fatalf("%v was made %v", plan.Plan{f, other}, small.Plan)
				}
			}
		}
	})
}

// What stops after a number of failures tells no more than one for each worker.
func TestSearchStops(t *testing.T) {
	var faults []plan.Fault
	for i := range 100 {
		faults = append(faults, plan.Fault{Kind: plan.Conflict, At: plan.Point{Step: 1, Verb: "update", Object: fmt.Sprint("pods/", i), Nth: 1}})
	}
	s := New(Options{Workers: 2, Stop: 3, Run: func(p plan.Plan) Result {
		return Result{Plan: p, Outcome: &world.Outcome{Met: []bool{true}}, Failures: []string{"wrong"}}
	}})
	s.Singles(faults, 1)
	if n := len(s.Failures()); n < 3 || n > 5 {
		t.Errorf("%d failures", n)
	}
	if first, last := s.End(faults[0]), s.End(faults[99]); first != simreport.Failed || last != simreport.NotTried {
		t.Errorf("the first fault has ended as %q, the last as %q", first, last)
	}
}

// A fault alone whose point does not come has not passed.
func TestFaultsThatAreNotMet(t *testing.T) {
	f := plan.Fault{Kind: plan.Conflict, At: plan.Point{Step: 1, Verb: "update", Object: "pods/a", Nth: 1}}
	s := New(Options{Run: func(p plan.Plan) Result { return Result{Plan: p, Outcome: &world.Outcome{Met: []bool{false}}} }})
	s.Singles([]plan.Fault{f}, 1)
	if got := s.End(f); got != simreport.NotMet {
		t.Errorf("%q", got)
	}
}

// What only goes wrong in the midst of a recovery is found, and the plan has both faults. One worker or several draw the
// same plans.
func TestSearchGoesDeeper(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.IntRange(1, 4).Draw(r, "steps")
		var points []plan.Point
		for i := range rapid.IntRange(1, 12).Draw(r, "points") {
			points = append(points, plan.Point{Step: rapid.IntRange(1, steps).Draw(r, "step"), Verb: "update", Object: fmt.Sprint("pods/", i), Nth: 1})
		}
		slices.SortFunc(points, func(a, b plan.Point) int { return a.Step - b.Step })
		cause := points[rapid.IntRange(0, len(points)-1).Draw(r, "cause")]
		recovery := plan.Point{Step: cause.Step, Verb: "delete", Object: "pods/extra", Nth: 1}
		drawn := func(workers int) (out []string, failed []Result) {
			var mu sync.Mutex
			s := New(Options{Workers: workers, Points: Points{All: points, Steps: steps}, Run: func(p plan.Plan) Result {
				mu.Lock()
				out = append(out, p.String())
				mu.Unlock()
				at := slices.Clone(points)
				recovers := slices.ContainsFunc(p, func(f plan.Fault) bool { return f.Kind == plan.CrashAfter && f.At == cause })
				if recovers {
					at = append(at, recovery)
				}
				res := Result{Plan: p, Outcome: &world.Outcome{Points: at}}
				for _, f := range p {
					res.Outcome.Met = append(res.Outcome.Met, slices.Contains(at, f.At))
					if recovers && f.Kind == plan.CrashBefore && f.At == recovery {
						res.Failures = []string{"wrong"}
					}
				}
				return res
			}})
			s.Singles(s.o.Points.Singles(), steps)
			s.Deeper(60, 1)
			return out, s.Failures()
		}
		one, failed := drawn(1)
		several, _ := drawn(4)
		slices.Sort(one)
		slices.Sort(several)
		if !slices.Equal(one, several) {
			r.Fatalf("one worker tries %v, four try %v", one, several)
		}
		want := plan.Plan{{Kind: plan.CrashAfter, At: cause}, {Kind: plan.CrashBefore, At: recovery}}.String()
		if len(failed) == 0 || failed[0].Plan.String() != want {
			r.Fatalf("found %v, want %s", failed, want)
		}
	})
}
