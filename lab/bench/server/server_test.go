package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

func TestMain(m *testing.M) { os.Exit(apiserver.Wrap(m).Run()) }

// Without the real control plane a small run takes a second. All its cases have a figure of the server in memory.
func TestRun(t *testing.T) {
	tier.Audit(t, "measures time and the heap")
	var out bytes.Buffer
	args := []string{"-real=false", "-time", "20ms", "-objects", "50", "-pods", "60", "-servers", "3", "-watchers", "2"}
	if err := run(t.Context(), args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		caseStart, caseCreateMaps, caseCreateMaps8, caseCreatePods, caseCreatePods8, caseCreateOther, caseGet, caseGetPod, caseUpdate, caseList, caseListBytes, caseWatch, caseMade, caseHistory, caseServer, casePods, caseSnapshot, caseRestore,
	} {
		found := false
		for line := range strings.Lines(out.String()) {
			if rest, ok := strings.CutPrefix(line, name+"  "); ok {
				found = strings.ContainsAny(rest, "123456789")
			}
		}
		if !found {
			t.Errorf("no figure of %q in\n%s", name, &out)
		}
	}
}

func TestGoals(t *testing.T) {
	r := &row{"x", "1/s", map[string]float64{memory: 300, realOne: 10}}
	for want, g := range map[string]goal{
		"30 × of real, want 20: met":    {beside: realOne, times: 20},
		"30 × of real, want 40: missed": {beside: realOne, times: 40},
		"≤ 1,000 1/s: met":              {limit: 1000},
		"":                              {beside: fakes, times: 1},
	} {
		if got, ok := r.verdict(g); got != want || ok != (want != "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	r.unit = "ms" // less is better
	if got, _ := r.verdict(goal{beside: realOne, times: 1}); got != "0.0333 × of real, want 1: missed" {
		t.Errorf("got %q", got)
	}
	for value, want := range map[float64]string{0: "0", 0.0392: "0.0392", 1.5: "1.5", 20: "20", 153.2: "153", 26084.4: "26,084", 1234567: "1,234,567"} {
		if got := number(value); got != want {
			t.Errorf("%v is %q, want %q", value, got, want)
		}
	}
}
