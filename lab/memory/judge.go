package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// row returns the line of a suite in the table.
func row(name string, r runs) string {
	tests := fmt.Sprint(r.memory.Specs)
	if r.memory.Pending > 0 {
		tests += fmt.Sprintf(" (%d pending)", r.memory.Pending)
	}
	passed, took := "not run", "–"
	if r.real != nil {
		passed, took = fmt.Sprint(r.real.Passed), seconds(r.real.Took)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %s |", name, tests, passed, r.memory.Passed, took, seconds(r.memory.Took))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// judge returns the failures without an explanation, and those with one.
func judge(s suite, r runs) (bad []error, known []string) {
	if r.memory.Specs == 0 {
		bad = append(bad, fmt.Errorf("%s: no test ran", s.name))
	}
	var both []string // the names of tests that fail on the control plane, too
	if r.own != nil {
		for _, f := range r.own.Failed {
			bad = append(bad, fmt.Errorf("%s, over the fake: %s", s.name, f))
		}
	}
	if r.real != nil {
		for _, f := range r.real.Failed {
			both = append(both, title(f))
			if !s.own && s.reason(title(f)) == "" {
				bad = append(bad, fmt.Errorf("%s, on the control plane: %s", s.name, f))
			}
		}
		for _, name := range r.real.Names {
			if !slices.Contains(r.memory.Names, name) {
				bad = append(bad, fmt.Errorf("%s: %s ran on the control plane alone", s.name, name))
			}
		}
	}
	var explain []string
	for _, f := range r.memory.Failed {
		if reason := s.reason(title(f)); reason != "" {
			known = append(known, fmt.Sprintf("%s: %s: %s", s.name, title(f), reason))
			continue
		}
		if s.own && (r.real == nil || slices.Contains(both, title(f)) || byChance(f)) {
			explain = append(explain, f)
			continue
		}
		bad = append(bad, fmt.Errorf("%s, in memory: %s", s.name, f))
	}
	why, unexplained := argued(explain)
	return append(bad, unexplained...), append(known, why...)
}

// title returns the name of the test in a failure.
func title(failure string) string { return strings.SplitN(failure, "\n", 2)[0] }

// reason returns why a test fails in memory; "" if no reason is known.
func (s suite) reason(name string) string {
	for part, why := range s.differs {
		if strings.Contains(name, part) {
			return why
		}
	}
	return ""
}
