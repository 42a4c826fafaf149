package sim_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/sim"
)

// One plan has one course of events, however often it runs, and whatever runs beside it. The plans are drawn from those
// of podscaler. FLYBALL_PLANS=10000 draws more; the hash that is logged is that of another process, too.
func TestOnePlanIsOneTrace(t *testing.T) {
	s := podscalerOf(3, 2)
	n, runs := 12, 5
	if text := os.Getenv("FLYBALL_PLANS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		runs = 2
	}
	plans := append([]string{"none"}, sim.Plans(t, s, n)...)
	hashes := make([][sha256.Size]byte, len(plans))
	began := time.Now()
	sim.EachPlan(t, s, plans, runs, func(i int, traces [][]string) {
		hashes[i] = sha256.Sum256([]byte(strings.Join(traces[0], "\n")))
		for _, other := range traces[1:] {
			if one := traces[0]; !slices.Equal(one, other) {
				t.Errorf("%s: %s", plans[i], firstDifference(one, other))
			}
		}
	})
	all := sha256.New()
	for _, h := range hashes {
		all.Write(h[:])
	}
	t.Logf("%d plans, %d runs each, %v: traces %x", len(plans), runs, time.Since(began), all.Sum(nil))
}

func firstDifference(one, other []string) string {
	k := 0
	for k < min(len(one), len(other)) && one[k] == other[k] {
		k++
	}
	return fmt.Sprintf("line %d:\n%q\n%q", k, one[max(0, k-4):min(k+2, len(one))], other[max(0, k-4):min(k+2, len(other))])
}

// A silent watch brings nothing for six minutes, and neither does one that is opened meanwhile. Other paths go on, and so
// does the step. Flyball notices it earlier, and lists.
func TestSilentWatch(t *testing.T) {
	for name, c := range map[string]struct {
		silence     time.Duration
		least, most float64 // seconds until the program acts
	}{
		"of a program that waits":    {-1, 360, 360},
		"of a program that looks up": {0, 1, 180},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.Scenario{
				Program: program(func(m *flyball.Manager) error { return operator(m, copies, sources(true)...) }, func(o *flyball.Options) {
					o.Cache.Configure = func(o *informer.Options) { o.Reflector.Silence = c.silence }
				}),
				Steps: []sim.Step{
					sim.Together(app("a", `"x":"1"`, ""), sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}`)),
					set("a", `"x":"2"`),
				},
			}
			trace := sim.Traces(t, s, []string{"silent@1:ADDED:configmaps/default/a"}, 1)[0]
			begun := timeOf(t, trace, "silent ADDED of configmaps/default/a")
			if took := timeOf(t, trace, "create secrets/default/a-copy") - begun; took < c.least || took > c.most {
				t.Errorf("it acts after %v s, want %v to %v\n%s", took, c.least, c.most, strings.Join(trace, "\n"))
			}
			if took := timeOf(t, trace, "sees ADDED secrets/default/s,") - begun; took > 1 {
				t.Errorf("another path is silent for %v s", took)
			}
			if next := timeOf(t, trace, "user     patch configmaps default/a") - begun; next < 360 || next > 400 {
				t.Errorf("the next step begins after %v s", next)
			}
			timeOf(t, trace, "update secrets/default/a-copy → 200")
			if c.silence < 0 && timeOf(t, trace, "program  watch configmaps → 200", begun+1) > begun+360 {
				t.Error("no other watch was opened meanwhile")
			}
		})
	}
}

// timeOf returns the seconds of the first line of a trace that has a text, from a time on.
func timeOf(t *testing.T, trace []string, text string, from ...float64) float64 {
	t.Helper()
	for _, line := range trace {
		at, err := strconv.ParseFloat(strings.TrimSpace(line[:9]), 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, text) && (len(from) == 0 || at >= from[0]) {
			return at
		}
	}
	t.Fatalf("%q is not in\n%s", text, strings.Join(trace, "\n"))
	return 0
}
