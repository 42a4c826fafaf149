package measure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/replay"
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

var (
	both  = []string{contender.ClientGo, contender.ControllerRuntime}
	cg    = both[:1]
	cr    = both[1:]
	meta  = []string{"controller-runtime-metadata"}
	floor = []string{contender.Transport}
)

// row are the goals of one corpus: upper bounds of Flyball's own figure, and of its ratios to
// client-go's. Zero means no goal.
type row struct {
	when     func(Setup) bool
	bytes    float64 // retained, for each object
	retained float64 // and the following of client-go
	peak     float64
	cpu      float64 // until synced
	event    float64 // CPU, flat out
	get      float64
	metadata float64 // CPU of an event, of controller-runtime with metadata only
}

// rows are the goals that depend on the corpus.
var rows = []row{
	{when: pods(50, 1<<30), bytes: 300, peak: 1. / 33, cpu: 1. / 9, event: 1. / 6, get: 0.8},
	{when: pods(0, 5), bytes: 600, retained: 1. / 27, peak: 1. / 18, cpu: 1. / 6, event: 1. / 5, get: 0.9},
	{when: kind("nodes"), bytes: 500, retained: 1. / 32, peak: 1. / 12, cpu: 1. / 5, event: 1. / 4, get: 0.9, metadata: 1},
	{when: kind("deployments"), bytes: 200, retained: 1. / 70, peak: 1. / 18, cpu: 1. / 7, event: 1. / 5, get: 0.7},
	{when: and(kind("widgets"), unstructured), bytes: 400, peak: 1. / 34, cpu: 1. / 24, metadata: 1.3},
	{when: kind(corpus.ClusterKind), retained: 1. / 25, peak: 1. / 20, cpu: 1. / 7, event: 1. / 5, get: 0.9},
}

// goals are those of rows, and others of the design. Several may apply to one case; all have to be met.
var goals = slices.Concat(ofRows(), []goal{
	{cases: "retained per object", when: pods(5, 50), to: both, most: 1. / 20},
	{cases: "retained, of wire bytes + 150 B", when: kind("configmaps", "secrets"), most: 1.1, unit: "×"},
	{cases: "peak memory, beginning to end", when: func(s Setup) bool { return pods(50, 1<<30)(s) && s.Spec.Objects >= 1_000_000 }, most: 600, unit: "MB"},
	{cases: "CPU until synced", when: and(pods(0, 1<<30), typed), to: meta, most: 1. / 2},
	{cases: "CPU until synced", when: and(kind(corpus.ClusterKind), plain), to: floor, most: 3},
	{cases: "CPU until synced", when: and(kind(corpus.ClusterKind), tls), to: floor, most: 1.5},
	{cases: "time until synced", when: and(pods(50, 1<<30), typed), to: both, most: 1. / 5},
	{cases: "forced collection, CPU", when: pods(50, 1<<30), to: both, most: 1. / 100},
	{cases: "events per second, flat out", when: and(pods(50, 1<<30), typed), to: both, least: 5},
	{cases: "event to handler at 2,000/s, p50", when: typed, to: cg, most: 0.7},
	{cases: "event to handler at 2,000/s, p99", when: typed, to: cg, most: 1},
	{cases: "CPU until synced", when: kind("releases"), to: cg, most: 0.7},
	{cases: "CPU until synced", when: anyShape, to: cg, most: 1. / 4},
	{cases: "read: get", when: and(typed, anyGet), to: cg, most: 0.9},
	{cases: "read: get", when: unstructured, to: cg, most: 1},
	{cases: "read: shared header", when: always, most: 0.5, unit: "µs"},
	{cases: "read: shared header, allocations", when: always, most: 2, unit: ""},
	{cases: "read: list by label, 100 objects", when: always, to: cg, most: 0.8},
	{cases: "read: list by label in a namespace", when: always, to: cg, most: 1},
	{cases: "read: get, allocations", when: protobuf, to: cg, most: 1},
	{cases: "read: list by index, 100 objects", when: protobuf, to: cr, most: 0.6},
	{cases: "read: projected", when: always, to: both, most: 1. / 20},
	{cases: "growth while a handler is blocked", when: always, most: 20, unit: "MB"},
	{cases: "work queue: Add, Get, Done", when: always, to: cg, most: 1. / 4},
	{cases: "retained after churn, of that after the first sync", when: always, most: 1.4, unit: "×"},
	{cases: "memory after deleting 90 %, of the peak", when: always, most: 25, unit: "%"},
	{cases: firstTime(1000), when: always, to: cr, most: 1. / 2},
	{cases: idleMemory, when: always, most: 18, unit: "MB"},
})

// ofRows returns the goals of rows.
func ofRows() (all []goal) {
	for _, r := range rows {
		for _, g := range []goal{
			{cases: "retained per object", most: r.bytes, unit: "B"},
			{cases: "retained per object", to: cg, most: r.retained},
			{cases: "peak memory until synced", to: cg, most: r.peak},
			{cases: "CPU until synced", to: cg, most: r.cpu},
			{cases: "CPU per event, flat out", to: cg, most: r.event},
			{cases: "CPU per event, flat out", to: meta, most: r.metadata},
			{cases: "read: get", to: cg, most: r.get},
		} {
			if g.when = r.when; g.most > 0 {
				all = append(all, g)
			}
		}
	}
	return all
}

func always(Setup) bool { return true }

// anyShape reports corpora whose time until synced has no goal of its own.
func anyShape(s Setup) bool {
	return !s.ofCluster() && !slices.ContainsFunc(rows, func(r row) bool { return r.cpu > 0 && r.when(s) }) && !kind("releases")(s)
}

// anyGet reports corpora whose gets have no goal of their own.
func anyGet(s Setup) bool {
	return !slices.ContainsFunc(rows, func(r row) bool { return r.get > 0 && r.when(s) })
}

func kind(names ...string) func(Setup) bool {
	return func(s Setup) bool { return slices.Contains(names, s.Spec.Kind) }
}

// pods reports corpora of Pods whose owners have more than one number of them, and at most another.
func pods(more, most int) func(Setup) bool {
	return func(s Setup) bool {
		each := s.Spec.Objects / cmp.Or(s.Spec.Owners, 50)
		return kind("pods")(s) && each > more && each <= most
	}
}

func tls(s Setup) bool { return s.TLS }

func plain(s Setup) bool { return !s.TLS }

func typed(s Setup) bool { return s.viewOfFirst() == contender.Typed }

func unstructured(s Setup) bool { return s.viewOfFirst() == contender.Unstructured }

func (s Setup) viewOfFirst() contender.View {
	return s.view(noName, s.corpus().Resources()[0])
}

func protobuf(s Setup) bool { return typed(s) && s.form(noName) == replay.Protobuf }

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
	return map[string]string{contender.ClientGo: "CG", contender.ControllerRuntime: "CR", "controller-runtime-metadata": "CR-metadata", contender.Transport: "transport"}[name]
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
