package plane

import (
	"bytes"
	"sync"
)

// logLines is the number of lines that a Log holds.
const logLines = 20_000

// Log holds the last 20,000 lines of a control plane's logs. It is safe for concurrent use. The
// zero value is empty and ready.
type Log struct {
	mu      sync.Mutex
	lines   []string // ring buffer of the last logLines
	total   int      // number of lines ever written
	partial []byte   // an incomplete line
}

// Write adds text. It does not retain b and never fails.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, b...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		if len(l.lines) < logLines {
			l.lines = append(l.lines, string(line))
		} else {
			l.lines[l.total%logLines] = string(line)
		}
		l.total++
		l.partial = rest
	}
}

// Lines returns the number of complete lines ever written. It is a position for Tail.
func (l *Log) Lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Tail returns the last lines, oldest first: at most n lines written after the position since, as
// far as the Log still has them.
func (l *Log) Tail(since, n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := max(since, l.total-n, l.total-len(l.lines), 0)
	var tail []string
	for i := first; i < l.total; i++ {
		tail = append(tail, l.lines[i%logLines])
	}
	return tail
}
