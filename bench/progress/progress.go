// Package progress tells a person what a long command is doing.
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

// Log writes what is being done: on a terminal over the line before it if that said the same in
// other figures, else as lines with the time, those with figures seldom.
type Log struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	began    time.Time
	last     string    // format of the last line
	at       time.Time // of the last line
	open     bool      // the last line has no end yet
}

// New writes to out.
func New(out io.Writer) *Log {
	l := &Log{out: out, began: time.Now()}
	if f, ok := out.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
		l.terminal = err == nil
	}
	return l
}

// Log says what is being done from now on. It may be called from any goroutine.
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

// End ends the last line.
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
