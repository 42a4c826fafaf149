package sim

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/flyball-io/flyball/sim/internal/plan"
)

// part is one of several equal parts of the single faults, as in "2/5". It is a [flag.Value].
type part struct{ k, n int }

// newPartFlag defines the flag of the part that is tried.
func newPartFlag() *part {
	p := new(part)
	if err := p.Set(defaultPart); err != nil {
		panic(err) // it is a constant
	}
	flag.Var(p, "sim.part", "simulation: try part `K/N` of the single faults, to share them out; with -race 1/16 is the default")
	return p
}

// String returns K/N.
func (p *part) String() string { return fmt.Sprintf("%d/%d", p.k, p.n) }

// Set reads K/N.
func (p *part) Set(text string) error {
	first, second, _ := strings.Cut(text, "/")
	k, errK := strconv.Atoi(first)
	n, errN := strconv.Atoi(second)
	if errK != nil || errN != nil || k < 1 || k > n {
		return fmt.Errorf("it has the form K/N, with K from 1 to N")
	}
	p.k, p.n = k, n
	return nil
}

// of returns the faults of the part: every Nth one, from the Kth on.
func (p *part) of(faults []plan.Fault) (out []plan.Fault) {
	for i := p.k - 1; i < len(faults); i += p.n {
		out = append(out, faults[i])
	}
	return out
}
