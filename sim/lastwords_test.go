package sim

import (
	"strings"
	"testing"
)

// The plans that have not ended are named, however long their lines are.
func TestLastWords(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	got := lastWords(strings.NewReader("+TestA\tone\n+TestA\t" + long + "\n-TestA\tone\n+TestB/b\ttwo\n-TestA\t" + long + "\n+TestB/b\tcut"))
	if !strings.Contains(got, "-run '^TestB$/^b$' -sim.replay='two'") || strings.Contains(got, "one") || strings.Contains(got, "xxx") || strings.Contains(got, "cut") {
		t.Errorf("%.500s", got)
	}
	if got := lastWords(strings.NewReader("")); got != "" {
		t.Errorf("nothing began: %q", got)
	}
}
