package measure

import (
	"fmt"
	"math"
	"slices"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/replay"
)

// goal is the target of a case: a ratio of Flyball's figure to that of a peer, or a bound of
// Flyball's figure.
type goal struct {
	cases string
	when  func(Setup) bool
	// to are the peers; nil means Flyball's own figure.
	to []string
	// most is the upper bound of the ratio or figure. If most is zero, least is the lower bound.
	most, least float64
	unit        string // of a figure
}

var both = []string{contender.ClientGo, contender.ControllerRuntime}

// goals are those of the design. Several may apply to one case; all have to be met.
var goals = []goal{
	{cases: "retained per object", when: and(pods, manyOwners(false)), to: both, most: 1. / 30},
	{cases: "retained per object", when: and(pods, manyOwners(true)), to: both, most: 1. / 20},
	{cases: "retained per object", when: and(kind("widgets"), unstructured), to: both, most: 1. / 60},
	{cases: "retained, of wire bytes + 150 B", when: kind("configmaps", "secrets", "nodes"), most: 1.1, unit: "×"},
	{cases: "peak memory until synced", when: pods, to: both, most: 1. / 30},
	{cases: "peak memory, beginning to end", when: func(s Setup) bool { return pods(s) && s.Spec.Objects >= 1_000_000 }, most: 600, unit: "MB"},
	{cases: "CPU until synced", when: and(pods, typed), to: both, most: 1. / 8},
	{cases: "CPU until synced", when: and(pods, typed), to: []string{"controller-runtime-metadata"}, most: 1. / 2},
	{cases: "CPU until synced", when: and(kind("widgets"), unstructured), to: both, most: 1. / 15},
	{cases: "time until synced", when: and(pods, typed), to: both, most: 1. / 5},
	{cases: "forced collection, CPU", when: pods, to: both, most: 1. / 100},
	{cases: "CPU per event, flat out", when: and(pods, typed), to: both, most: 1. / 6},
	{cases: "events per second, flat out", when: and(pods, typed), to: both, least: 5},
	{cases: "event to handler at 2,000/s, p50", when: and(pods, typed), to: both, most: 0.6},
	{cases: "read: get", when: protobuf, to: both, most: 1},
	{cases: "read: get", when: and(kind("widgets"), typed), to: both[:1], most: 3},
	{cases: "read: get, allocations", when: protobuf, to: both[:1], most: 1},
	{cases: "read: list by index, 100 objects", when: protobuf, to: both[1:], most: 0.6},
	{cases: "read: header", when: always, to: both, most: 1. / 20},
	{cases: "read: projected", when: always, to: both, most: 1. / 20},
	{cases: "growth while a handler is blocked", when: always, most: 20, unit: "MB"},
	{cases: "work queue: Add, Get, Done", when: always, to: both[:1], most: 1. / 4},
	{cases: "retained after churn, of that after the first sync", when: always, most: 1.4, unit: "×"},
	{cases: "memory after deleting 90 %, of the peak", when: always, most: 25, unit: "%"},
}

func always(Setup) bool { return true }

func kind(names ...string) func(Setup) bool {
	return func(s Setup) bool { return s.Recorded == nil && slices.Contains(names, s.Spec.Kind) }
}

var pods = kind("pods")

func manyOwners(yes bool) func(Setup) bool {
	return func(s Setup) bool { return s.Spec.Owners >= 1000 == yes }
}

func typed(s Setup) bool { return s.View == contender.Typed }

func unstructured(s Setup) bool { return s.View == contender.Unstructured }

func protobuf(s Setup) bool { return typed(s) && s.Form == replay.Protobuf }

func and(a, b func(Setup) bool) func(Setup) bool {
	return func(s Setup) bool { return a(s) && b(s) }
}

// String returns the goal for people. It names the peer unless the goal is for both.
func (g goal) String() string {
	text, v := "≤ ", g.most
	if g.most == 0 {
		text, v = "≥ ", g.least
	}
	if g.to == nil {
		return text + figure(v) + " " + g.unit
	}
	text += ratio(v)
	if len(g.to) == 1 {
		text += " of " + short(g.to[0])
	}
	return text
}

// short returns the name of a contender for narrow columns.
func short(name string) string {
	return map[string]string{contender.ClientGo: "CG", contender.ControllerRuntime: "CR", "controller-runtime-metadata": "CR-metadata"}[name]
}

// met reports whether a case reaches the goal. known is false without figures.
func (g goal) met(c *Case) (met, known bool) {
	values := []float64{}
	own := c.of(contender.Flyball)
	if own == nil {
		return false, false
	}
	if g.to == nil {
		values = append(values, *own)
	}
	for _, peer := range g.to {
		if v := c.of(peer); v != nil && *v > 0 {
			values = append(values, *own / *v)
		}
	}
	met = true
	for _, v := range values {
		if g.most > 0 && v > g.most || g.most == 0 && v < g.least {
			met = false
		}
	}
	return met, len(values) > 0
}

// ratio formats parts as fractions and multiples as numbers.
func ratio(v float64) string {
	switch inverse := 1 / v; {
	case v <= 0 || math.IsInf(v, 0) || math.IsNaN(v):
		return "–"
	case inverse >= 9.95:
		return fmt.Sprintf("1/%.0f", inverse)
	case inverse >= 1.95:
		return "1/" + trim(inverse)
	}
	return trim(v) + " ×"
}

func trim(v float64) string {
	if v == math.Trunc(v) || v >= 9.95 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// figure formats a number with three significant digits.
func figure(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 100 || v <= -100:
		return thousands(v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", math.Abs(v))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 {
		s = "-" + s
	}
	return s
}
