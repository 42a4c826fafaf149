package lint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// limitsFile has the limits of this package, past and present.
const limitsFile = "limits.txt"

// limit is one of them.
type limit struct {
	name  string
	value int
}

// limits returns all limits of this package.
func limits() []limit {
	all := []limit{
		{"core", maxCore}, {"exported names", maxNames}, {"linked packages", mostLinked},
		{"lines of a file", maxFile}, {"lines of a sample", maxSample}, {"words of a sentence", maxWords},
	}
	for _, w := range ways {
		all = append(all, w.limits()...)
	}
	for _, r := range rooms {
		all = append(all, limit{r.name, r.limit})
	}
	return all
}

// TestLimits compares each limit with the committed file of limits. A rise needs a line there, with what a user got.
func TestLimits(t *testing.T) {
	text, err := os.ReadFile(limitsFile)
	if err != nil {
		t.Fatal(err)
	}
	problems, fallen := compareLimits(string(text), limits())
	if os.Getenv("UPDATE_GOLDEN") != "" && len(fallen) > 0 {
		if err := os.WriteFile(limitsFile, slices.Concat(text, []byte(strings.Join(fallen, ""))), 0o644); err != nil {
			t.Fatal(err)
		}
		fallen = nil
	}
	for _, line := range fallen {
		problems = append(problems, fmt.Sprintf("%s lacks the line of a limit that has fallen: %s", limitsFile, strings.TrimSpace(line)))
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// compareLimits returns what is wrong with a file of limits, and the lines of those that have fallen since.
func compareLimits(text string, now []limit) (problems, fallen []string) {
	last := map[string]int{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, "|", 3)
		if len(parts) < 3 {
			problems = append(problems, fmt.Sprintf("line %d: want name | limit | reason", n))
			continue
		}
		name, size, reason := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
		value, err := strconv.Atoi(size)
		if err != nil {
			problems = append(problems, fmt.Sprintf("line %d: %v", n, err))
			continue
		}
		before, known := last[name]
		rise := strings.HasPrefix(size, "+")
		if (rise || known && value > before) && len(strings.Fields(reason)) == 0 {
			problems = append(problems, fmt.Sprintf("line %d: %s rises without what a user got for it", n, name))
		}
		if !rise {
			last[name] = value
		}
	}
	for _, l := range now {
		before, known := last[l.name]
		switch {
		case !known || l.value > before:
			problems = append(problems, fmt.Sprintf("%s has risen from %d to %d: lower it, or add a line to %s with what a user got for it", l.name, before, l.value, limitsFile))
		case l.value < before:
			fallen = append(fallen, fmt.Sprintf("%s | %d |\n", l.name, l.value))
		}
	}
	return problems, fallen
}

func TestLimitsAreCompared(t *testing.T) {
	for _, tc := range []struct {
		text     string
		now      int
		problems string // a word of the one problem, or ""
		fallen   string
	}{
		{"# a | 1 |\na | 5 |\n", 5, "", ""},
		{"a | 5 |\n", 4, "", "a | 4 |\n"},
		{"a | 5 |\n", 6, "risen from 5 to 6", ""},
		{"a | 5 |\na | 6 | an answer in half of the time\n", 6, "", ""},
		{"a | 5 |\na | 6 |\n", 6, "line 2: a rises without", ""},
		{"a | 5 |\na | 4 |\na | 5 |\n", 5, "line 3: a rises without", ""},
		{"a | +3 | a feature\na | 5 |\n", 5, "", ""},
		{"a | +3 |\na | 5 |\n", 5, "line 1: a rises without", ""},
		{"a | 5 |\na | +3 | a feature\n", 8, "risen from 5 to 8", ""},
		{"b | 5 |\n", 5, "a has risen from 0 to 5", ""},
		{"a | five |\n", 0, "line 1", ""},
		{"a 5\n", 0, "line 1", ""},
	} {
		problems, fallen := compareLimits(tc.text, []limit{{"a", tc.now}})
		if all := strings.Join(problems, "\n"); (tc.problems == "") != (all == "") || !strings.Contains(all, tc.problems) {
			t.Errorf("%q, now %d: problems %q, want %q", tc.text, tc.now, all, tc.problems)
		}
		if got := strings.Join(fallen, ""); got != tc.fallen {
			t.Errorf("%q, now %d: fallen %q, want %q", tc.text, tc.now, got, tc.fallen)
		}
	}
}
