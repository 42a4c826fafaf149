package apiserver_test

import (
	"strings"
	"sync"
	"testing"
)

// lines replaces texts in lines, and remembers what became of a line. Answers have many lines, and most of them are
// those of other answers, too. It is safe for concurrent use.
type lines struct {
	change func(line string) string

	mu    sync.RWMutex
	known map[string]string
}

const (
	maxLines = 50_000 // that are remembered
	maxLine  = 500    // bytes of one
)

func newLines(change func(string) string) *lines {
	return &lines{change: change, known: map[string]string{}}
}

func (l *lines) replace(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		b.WriteString(l.line(line))
	}
	return b.String()
}

func (l *lines) line(line string) string {
	l.mu.RLock()
	to, ok := l.known[line]
	full := len(l.known) >= maxLines
	l.mu.RUnlock()
	if ok {
		return to
	}
	to = l.change(line)
	if !full && len(line) <= maxLine {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.known[strings.Clone(line)] = to // without the text around it
	}
	return to
}

var withoutTime = newLines(func(line string) string { return timestamp.ReplaceAllString(line, "TIME") })

var withoutChance = newLines(func(line string) string {
	line = anyUUID.ReplaceAllString(line, "UUID")
	line = suffix.ReplaceAllString(line, "${1}?????")
	line = fingers.ReplaceAllString(line, "X509SHA256=")
	line = program.ReplaceAllString(line, "kube-apiserver")
	line = cells.ReplaceAllString(line, `"a cell"`)
	line = address.ReplaceAllString(line, "ADDRESS")
	line = nodePort.ReplaceAllString(line, "${1}N")
	line = inText.ReplaceAllString(line, "${1}N")
	line = managers.ReplaceAllString(line, "managedFields")
	return inPath.ReplaceAllString(line, "$1=X")
})

// A line is replaced the second time as the first, and other lines stay.
func TestLinesAreReplaced(t *testing.T) {
	const text = "a\n\"at\": \"2026-01-02T03:04:05Z\"\nby 10.0.1.2"
	const want = "a\n\"at\": \"TIME\"\nby ADDRESS"
	calls := 0
	l := newLines(func(line string) string {
		calls++
		return withoutChance.change(withoutTime.change(line))
	})
	for range 2 {
		if got := l.replace(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	long := strings.Repeat("x", maxLine+1)
	for range 2 {
		if got := l.replace(long); got != long {
			t.Errorf("got %q", got)
		}
	}
	if calls != 5 { // three lines once, and the long one twice
		t.Errorf("%d calls", calls)
	}
}
