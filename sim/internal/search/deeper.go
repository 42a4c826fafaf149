package search

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/flyball-io/flyball/sim/internal/plan"
)

// found has the points that a run without faults does not meet, such as those of a recovery, and the plans by which they
// are met.
type found struct {
	plans  map[plan.Point][]plan.Plan
	hooked map[plan.Point]bool
}

// A point keeps few plans that lead to it, and the search few points.
const (
	maxPlans  = 16
	maxPoints = 20000
)

// learn notes the points of a run that are not known. A point is met because of the faults up to its step: in a pass, the
// last one of them, since those before it are over.
func (s *Search) learn(r Result) {
	if len(r.Failures) > 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range r.Outcome.Points {
		if s.known[at] || len(s.found.plans) >= maxPoints && s.found.plans[at] == nil {
			continue
		}
		base := r.Plan
		if s.passing {
			base = nil
			for i, f := range r.Plan {
				if f.At.Step <= at.Step && r.Outcome.Met[i] {
					base = plan.Plan{f}
				}
			}
		}
		if len(base) == 0 {
			continue
		}
		if s.found.plans == nil {
			s.found = found{map[plan.Point][]plan.Plan{}, map[plan.Point]bool{}}
		}
		s.found.hooked[at] = r.Outcome.Hooked[at]
		all := s.found.plans[at]
		if i, there := slices.BinarySearchFunc(all, base, plan.Plan.Compare); !there {
			all = slices.Insert(all, i, base)
			s.found.plans[at] = all[:min(maxPlans, len(all))] // the same ones in whatever order the runs end
		}
	}
}

// Deeper tries n plans that go wrong once more, at a point that a plan of one or more faults has made, as in the midst of
// a recovery. Each such point is as likely as another one.
func (s *Search) Deeper(n int, seed uint64) {
	s.mu.Lock()
	points := make([]plan.Point, 0, len(s.found.plans))
	for at := range s.found.plans {
		points = append(points, at)
	}
	slices.SortFunc(points, func(a, b plan.Point) int { return cmp.Compare(a.String(), b.String()) })
	random := rand.New(rand.NewPCG(seed, 2))
	var plans []plan.Plan
	for range n {
		if len(points) == 0 {
			break
		}
		at := points[random.IntN(len(points))]
		bases, faults := s.found.plans[at], s.o.Points.faultsAt(at, s.found.hooked[at])
		base := bases[random.IntN(len(bases))]
		plans = append(plans, append(slices.Clone(base), faults[random.IntN(len(faults))]))
	}
	s.mu.Unlock()
	s.tuples(plans)
}
