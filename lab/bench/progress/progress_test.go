package progress

import (
	"bytes"
	"strings"
	"testing"
)

// In a file each new step is a line, and new figures of the same step are rare.
func TestLines(t *testing.T) {
	var b bytes.Buffer
	l := New(&b)
	for i := range 1000 {
		l.Log("recording %d of %d", i, 1000)
	}
	l.Log("measuring")
	l.Log("measuring")
	l.End()
	if n := strings.Count(b.String(), "\n"); n != 3 || strings.Contains(b.String(), "\r") {
		t.Errorf("%d lines\n%s", n, &b)
	}
}

// On a terminal new figures of the same step replace the old ones.
func TestTerminal(t *testing.T) {
	var b bytes.Buffer
	l := New(&b)
	l.terminal = true
	l.Log("recording %d", 1)
	l.Log("recording %d", 2)
	l.Log("measuring")
	l.End()
	if got := b.String(); strings.Count(got, "\r") != 1 || strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "measuring\n") {
		t.Errorf("%q", got)
	}
}
