// Package progress shows a person the progress of a long command.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Log writes progress. On a terminal a message replaces the previous one if only their figures
// differ. Elsewhere messages are lines with the time, and repeated ones are rare.
type Log struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	began    time.Time
	last     string    // format of the last line
	at       time.Time // of the last line
	open     bool      // the last line is not finished
}

// New returns a Log that writes to out.
func New(out io.Writer) *Log {
	l := &Log{out: out, began: time.Now()}
	if f, ok := out.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		l.terminal = err == nil
	}
	return l
}

// Log shows the current step. It is safe for concurrent use.
func (l *Log) Log(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	again := format == l.last && strings.Contains(format, "%d")
	if again && !l.terminal && now.Sub(l.at) < 15*time.Second {
		return
	}
	text := fmt.Sprintf("%6s  ", now.Sub(l.began).Truncate(time.Second)) + fmt.Sprintf(format, args...)
	switch {
	case !l.terminal:
		fmt.Fprintln(l.out, text)
	case again:
		fmt.Fprintf(l.out, "\r%s", text)
	default:
		l.endLocked()
		fmt.Fprint(l.out, text)
		l.open = true
	}
	l.last, l.at = format, now
}

// End finishes the last line.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked()
}

func (l *Log) endLocked() {
	if l.open {
		fmt.Fprintln(l.out)
		l.open = false
	}
}
