package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/sim/internal/search"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// tellAtEnds is how much of a long story is told of its begin, and of its end.
const tellAtEnds = 100

// story tells what went wrong in a run, in the order of time.
func (c *checker) story(t *testing.T, r search.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sim: %s\n", c.text(r.Plan))
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(f, "\n", "\n  "))
	}
	from := firstStep(r)
	fmt.Fprintf(&b, "what happened, from step %d on:\n", from)
	var told []world.Entry
	for _, e := range r.Outcome.Trace {
		if e.Step >= from {
			told = append(told, e)
		}
	}
	for i, e := range told {
		switch left := len(told) - 2*tellAtEnds; {
		case left > 0 && i == tellAtEnds:
			fmt.Fprintf(&b, "  … %d more; -sim.replay has them all\n", left)
		case left <= 0 || i < tellAtEnds || i >= tellAtEnds+left:
			fmt.Fprintf(&b, "  %s\n", e)
		}
	}
	fmt.Fprintf(&b, "again: %s", again(t.Name(), c.text(r.Plan)))
	return b.String()
}

// firstStep returns the step in which a run begins to differ from that without faults.
func firstStep(r search.Result) int {
	from := r.FailedStep
	for _, f := range r.Plan {
		if from < 0 || f.At.Step < from {
			from = f.At.Step
		}
	}
	return max(from, 0)
}

// again returns the command that repeats a plan.
func again(test, text string) string {
	return "go test -run " + quoted(pattern(test)) + " -sim.replay=" + quoted(text)
}

// quoted returns a text as one word of a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
