package measure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/lab/bench/corpus"
)

// of returns the figures of one case.
func of(name string, f float64) *figures { return &figures{values: map[string]float64{name: f}} }

// Goals apply to the peers that they name, and all goals of a case have to be met.
func TestGoals(t *testing.T) {
	pods := Defaults()
	pods.Spec.Kind = "pods"
	pods, err := pods.Check()
	if err != nil {
		t.Fatal(err)
	}
	many, few := pods, pods
	many.Spec.Owners, few.Spec.Owners = 5000, 33_000
	cluster, err := Defaults().Check()
	if err != nil {
		t.Fatal(err)
	}
	secure := cluster
	secure.TLS = true
	widgets, err := Setup{
		Spec: corpus.Spec{Kind: "widgets", Objects: 10}, Runs: 1, Events: 1, Paced: 1, Blocked: 1, BlockedKeys: 1, Churn: 1, Keys: 1, Settle: 1,
	}.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		setup            Setup
		name             string
		flyball, cg, cr  float64
		other            float64 // of controller-runtime-metadata
		goal, met, ratio string
	}{
		{pods, "retained per object", 290, 18000, 16000, 0, "≤ 300 B", "true", "1/62"},
		{pods, "retained per object", 310, 18000, 16000, 0, "≤ 300 B", "false", "1/58"},
		{many, "retained per object", 800, 18000, 16000, 0, "≤ 1/20", "true", "1/22"},
		{few, "retained per object", 590, 18000, 16000, 0, "≤ 600 B, ≤ 1/27 of CG", "true", "1/31"},
		{few, "retained per object", 590, 15000, 16000, 0, "≤ 600 B, ≤ 1/27 of CG", "false", "1/25"},
		{widgets, "retained per object", 500, 18000, 16000, 0, "≤ 400 B", "false", "1/36"},
		{cluster, "retained per object", 500, 18000, 16000, 0, "≤ 1/25 of CG", "true", "1/36"},
		{pods, "CPU until synced", 1, 10, 10, 3, "≤ 1/9 of CG, ≤ 1/2 of CR-metadata", "true", "1/10"},
		{pods, "CPU until synced", 1, 10, 10, 1.5, "≤ 1/9 of CG, ≤ 1/2 of CR-metadata", "false", "1/10"},
		{cluster, "CPU until synced", 1, 10, 10, 0, "≤ 1/7 of CG, ≤ 3 × of transport", "true", "1/10"},
		{secure, "CPU until synced", 1, 10, 10, 0, "≤ 1/7 of CG, ≤ 1.5 × of transport", "true", "1/10"},
		{pods, "events per second, flat out", 60000, 10000, 13000, 0, "≥ 5 ×", "false", "6 ×"},
		{pods, "events per second, flat out", 66000, 10000, 13000, 0, "≥ 5 ×", "true", "6.6 ×"},
		{pods, "growth while a handler is blocked", 19, 3000, 3000, 0, "≤ 20 MB", "true", "1/158"},
		{pods, "growth while a handler is blocked", 21, 3000, 3000, 0, "≤ 20 MB", "false", "1/143"},
		{pods, "work queue: Add, Get, Done", 100, 500, 300, 0, "≤ 1/4 of CG", "true", "1/5"},
		{pods, "read: list by index, 100 objects", 6, 1, 10, 0, "≤ 0.6 × of CR", "true", "6 ×"},
		{pods, "retained after churn, of that after the first sync", 1.3, 1, 1, 0, "≤ 1.4 ×", "true", "1.3 ×"},
		{pods, "first reconcile, 1,000 other objects, time", 1, 1, 3, 0, "≤ 1/2 of CR", "true", "1 ×"},
		{pods, "relist, CPU", 1, 2, 2, 0, "", "<nil>", "1/2"},
		{pods, "read: get", 1, 0, 0, 0, "≤ 0.8 × of CG", "<nil>", "–"},
	} {
		r := newResults(c.setup)
		for name, v := range map[string]float64{"flyball": c.flyball, "client-go": c.cg, "controller-runtime": c.cr, "controller-runtime-metadata": c.other} {
			if v > 0 {
				r.add(name, []*figures{of(c.name, v)})
			}
		}
		r.judge(c.setup)
		got := r.Case(c.name)
		met := "<nil>"
		if got.Met != nil {
			met = fmt.Sprint(*got.Met)
		}
		if ratio := cell(got.RatioClientGo, ratio); got.Goal != c.goal || met != c.met || ratio != c.ratio {
			t.Errorf("%s: %q %s %s, want %q %s %s", c.name, got.Goal, met, ratio, c.goal, c.met, c.ratio)
		}
	}
}

// Every goal applies to an existing case.
func TestGoalsOfCases(t *testing.T) {
	s, err := Defaults().Check()
	if err != nil {
		t.Fatal(err)
	}
	r := newResults(s)
	for _, g := range goals {
		if r.Case(g.cases) == nil {
			t.Errorf("no case %q", g.cases)
		}
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.01234: "0.0123", 1.5: "1.5", 12.34: "12.3", 1234.5: "1,234", 22_900_000: "22,900,000", -1234: "-1,234", 30: "30"} {
		if got := figure(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{1. / 30: "1/30", 0.6: "0.6 ×", 0.5: "1/2", 8.2: "8.2 ×", 23.4: "23 ×", 0: "–"} {
		if got := ratio(v); got != want {
			t.Errorf("ratio %v is %s, want %s", v, got, want)
		}
	}
}

// Columns are as wide as their contents, and no line ends in spaces.
func TestColumns(t *testing.T) {
	var b strings.Builder
	if err := columns(&b, [][]string{{"case", "flyball"}, {"a long name", "1"}}); err != nil {
		t.Fatal(err)
	}
	want := "  case         flyball\n  a long name        1\n"
	if b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
}
