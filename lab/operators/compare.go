package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// comparison is what differs between two runs of the same tests.
type comparison struct {
	was, is string
	// memory is for servers: the second run is on one in memory, and no run makes a packed cache.
	memory bool
}

var (
	caches  = comparison{was: "default cache", is: "packed cache"}
	servers = comparison{was: "control plane", is: "in memory", memory: true}
)

// head is the head of the table.
func (c comparison) head() string {
	if c.memory {
		return "| operator | tests of | tests | control plane | in memory | time, control plane | in memory |\n|---|---|---|---|---|---|---|"
	}
	return "| operator | tests of | tests | default cache | packed cache | caches made | peak memory, default | packed |\n|---|---|---|---|---|---|---|---|"
}

// row is a line of the table. was is nil if it did not run.
func (c comparison) row(o operator, name string, was, is *result) string {
	n := fmt.Sprint(is.Specs)
	if is.Pending > 0 {
		n += fmt.Sprintf(" (%d skipped)", is.Pending)
	}
	passed, peak, took := "not run", "", "–"
	if was != nil {
		passed, peak, took = fmt.Sprint(was.Passed), fmt.Sprintf("%d MB", was.peak>>20), was.took.Round(time.Second).String()
	}
	begin := fmt.Sprintf("| %s %s | `%s` | %s | %s | %d |", o.name, o.version, name, n, passed, is.Passed)
	if c.memory {
		return begin + fmt.Sprintf(" %s | %s |", took, is.took.Round(time.Second))
	}
	return begin + fmt.Sprintf(" %d | %s | %d MB |", is.caches, peak, is.peak>>20)
}

// judge returns what the second run changed for the worse.
func (c comparison) judge(name string, was, is *result) (bad []error) {
	if is.Specs == 0 {
		bad = append(bad, fmt.Errorf("%s: no test ran", name))
	}
	if is.caches == 0 {
		bad = append(bad, fmt.Errorf("%s: no test made a cache", name))
	}
	for _, f := range is.Failed {
		if was == nil || !slices.ContainsFunc(was.Failed, func(g string) bool { return title(g) == title(f) }) {
			bad = append(bad, fmt.Errorf("%s, %s: %s", name, c.is, f))
		}
	}
	if was == nil {
		return bad
	}
	for _, f := range was.Failed {
		progress("%s, %s: %s", name, c.was, f)
	}
	if is.Passed < was.Passed && len(is.Failed) <= len(was.Failed) {
		bad = append(bad, fmt.Errorf("%s: %d tests passed, %s, and %d, %s", name, was.Passed, c.was, is.Passed, c.is))
	}
	return bad
}

// title is the name of a failed test.
func title(failure string) string { return strings.SplitN(failure, "\n", 2)[0] }
