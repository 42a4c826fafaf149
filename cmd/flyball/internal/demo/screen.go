package demo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"time"
)

// screen prints lines in the order of the calls of show. show never blocks, since watches call it.
// Instead the story waits for the screen, so that few lines are pending.
type screen struct {
	out    io.Writer
	json   bool
	colour bool
	begun  time.Time

	mu      sync.Mutex
	waiting []Line
	counts  map[Kind]int
	more    chan struct{} // has room for one
	idle    chan struct{} // closed and replaced when all lines are printed
	over    bool
}

func newScreen(o Options) *screen {
	return &screen{
		out: o.Out, json: o.JSON, colour: o.Colour && !o.JSON, begun: time.Now(),
		counts: map[Kind]int{}, more: make(chan struct{}, 1), idle: make(chan struct{}),
	}
}

// begin starts the clock.
func (s *screen) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = time.Now()
}

// show adds the time to a line and queues it for printing.
func (s *screen) show(l Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	l.Time = float64(time.Since(s.begun).Milliseconds()) / 1000
	if l.Kind == Summary {
		l.Counts = maps.Clone(s.counts)
		l.Text = fmt.Sprintf("%s %d events made %d reconciles and %d writes.", l.Text, l.Counts[Event], l.Counts[Reconcile], l.Counts[Write])
	}
	s.counts[l.Kind]++
	s.waiting = append(s.waiting, l)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// printed waits until all queued lines are printed.
func (s *screen) printed(ctx context.Context) error {
	s.mu.Lock()
	done, idle := len(s.waiting) == 0, s.idle
	s.mu.Unlock()
	if done {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run prints until ctx ends, and then the lines queued by then.
func (s *screen) run(ctx context.Context) error {
	for {
		select {
		case <-s.more:
			if err := s.print(); err != nil {
				return err
			}
		case <-ctx.Done():
			s.mu.Lock()
			s.over = true
			s.mu.Unlock()
			return s.print()
		}
	}
}

func (s *screen) print() error {
	s.mu.Lock()
	lines := s.waiting
	s.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	var text bytes.Buffer
	for _, l := range lines {
		s.format(&text, l)
	}
	_, err := s.out.Write(text.Bytes())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = s.waiting[len(lines):]
	if len(s.waiting) == 0 {
		close(s.idle)
		s.idle = make(chan struct{})
	} else {
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
	return err
}

// These are ANSI colours.
const (
	plain   = ""
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

func (s *screen) format(b *bytes.Buffer, l Line) {
	if s.json {
		line, err := json.Marshal(l)
		if err != nil { // every Line has a JSON form
			panic(err)
		}
		b.Write(append(line, '\n'))
		return
	}
	kind, text := plain, plain
	switch l.Kind {
	case Story:
		b.WriteByte('\n')
		kind, text = bold, bold
	case Event:
		kind = cyan
	case Reconcile:
		kind = yellow
	case Write:
		kind = magenta
	case Log:
		kind = dim
	case Expect, Summary:
		kind = green
		if l.OK != nil && !*l.OK {
			kind, text = red, red
		}
	}
	if l.minor {
		text = dim
	}
	fmt.Fprintf(b, "%7.2fs  %s  ", l.Time, s.paint(kind, fmt.Sprintf("%-9s", l.Kind)))
	switch l.Kind {
	case Story, Summary:
		b.WriteString(s.paint(text, l.Text))
	case Expect:
		mark := "✓ "
		if l.OK != nil && !*l.OK {
			mark = "✗ "
		}
		b.WriteString(s.paint(cmp.Or(text, kind), mark+l.Text))
	case Event, Write:
		b.WriteString(s.paint(text, strings.TrimRight(fmt.Sprintf("%-25s %-7s  %s", l.Object, l.Action, l.Text), " ")))
	default:
		b.WriteString(s.paint(text, fmt.Sprintf("%-25s %s", l.Object, l.Text)))
	}
	b.WriteByte('\n')
}

func (s *screen) paint(colour, text string) string {
	if !s.colour || colour == plain {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
