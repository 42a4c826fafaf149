package faults

import (
	"fmt"
	"slices"
	"time"
)

// frame is an effect on frames of a watch. Events are counted from 1; bookmarks are not counted.
type frame struct {
	what     action
	from, to int
	delay    time.Duration
	text     string
}

type action int

const (
	drop action = iota + 1
	twice
	swap
	slow
	noBookmarks
	insert
	// Ends of the watch, after an event.
	end
	cut
	cutFrame // within the event after
	expire
	silence
)

// counted reports whether the effect is on events of certain numbers, not on what follows them.
func (f frame) counted() bool {
	return f.what == drop || f.what == twice || f.what == swap || f.what == cutFrame
}

type ofRule struct {
	frame
	rule int
}

func onWatch(text string, f frame) Effect {
	e := Effect{text: text, only: []string{"watch"}, frame: f}
	switch {
	case f.from < 0 || f.delay < 0:
		e.wrong = negative
	case f.counted() && f.from == 0:
		e.wrong = "events are counted from 1"
	case f.to != 0 && f.to < f.from:
		e.wrong = "the last event is before the first"
	}
	return e
}

// EndAfter ends a watch in good order after n events, as a server does after timeoutSeconds.
func EndAfter(n int) Effect {
	return onWatch(fmt.Sprintf("EndAfter(%d)", n), frame{what: end, from: n})
}

// CutAfter cuts the connection of a watch after n events.
func CutAfter(n int) Effect {
	return onWatch(fmt.Sprintf("CutAfter(%d)", n), frame{what: cut, from: n})
}

// CutFrame cuts the connection in the middle of the n-th event.
func CutFrame(n int) Effect {
	return onWatch(fmt.Sprintf("CutFrame(%d)", n), frame{what: cutFrame, from: n})
}

// ExpireAfter ends a watch by a 410 after n events.
func ExpireAfter(n int) Effect {
	return onWatch(fmt.Sprintf("ExpireAfter(%d)", n), frame{what: expire, from: n})
}

// SilentAfter lets a watch stay open after n events, and sends nothing.
func SilentAfter(n int) Effect {
	return onWatch(fmt.Sprintf("SilentAfter(%d)", n), frame{what: silence, from: n})
}

// DropEvents loses events without a trace, from the first-th to the last-th. A last of 0 is no bound.
func DropEvents(first, last int) Effect {
	return onWatch(fmt.Sprintf("DropEvents(%d, %d)", first, last), frame{what: drop, from: first, to: last})
}

// RepeatEvents sends events twice.
func RepeatEvents(first, last int) Effect {
	return onWatch(fmt.Sprintf("RepeatEvents(%d, %d)", first, last), frame{what: twice, from: first, to: last})
}

// SwapEvents sends the n-th event after the one that follows it.
func SwapEvents(n int) Effect {
	return onWatch(fmt.Sprintf("SwapEvents(%d)", n), frame{what: swap, from: n, to: n})
}

// DelayEvents delays each event.
func DelayEvents(d time.Duration) Effect {
	return onWatch(fmt.Sprintf("DelayEvents(%v)", d), frame{what: slow, from: 1, delay: d})
}

// InsertFrame sends an additional frame after n events: a line of a JSON watch, without its newline.
func InsertFrame(n int, text string) Effect {
	return onWatch(fmt.Sprintf("InsertFrame(%d, %q)", n, short(text)), frame{what: insert, from: n, text: text})
}

// LoseBookmarks sends no bookmarks, not even the one that ends the initial events.
var LoseBookmarks = onWatch("LoseBookmarks", frame{what: noBookmarks})

// Stream decides on the frames of one watch.
type Stream struct {
	effects []ofRule
	events  int
}

// Stream returns the stream of a plan; nil if the plan has no effect on frames.
func (p Plan) Stream() *Stream {
	if len(p.stream) == 0 {
		return nil
	}
	return &Stream{effects: p.stream}
}

// Frame says how one frame is sent. Times is how often it is sent.
type Frame struct {
	Times int
	Delay time.Duration
	Hold  bool // send it after the next event
	Cut   bool // cut the connection in the middle of it
}

// Next decides on the next frame.
func (s *Stream) Next(bookmark bool) Frame {
	f := Frame{Times: 1}
	if s == nil {
		return f
	}
	if !bookmark {
		s.events++
	}
	for _, e := range s.effects {
		if bookmark {
			if e.what == noBookmarks {
				f.Times = 0
			}
			continue
		}
		if s.events < e.from || e.to > 0 && s.events > e.to {
			continue
		}
		switch e.what {
		case drop:
			f.Times = 0
		case twice:
			f.Times = min(f.Times*2, 2)
		case swap:
			f.Hold = true
		case slow:
			f.Delay += e.delay
		case cutFrame:
			f.Cut = true
		}
	}
	return f
}

// Then says what follows the frames so far: frames to insert, and whether the watch ends or falls silent.
type Then struct {
	Insert           []string
	End, Cut, Expire bool
	Silence          int // the number of the rule that keeps the watch silent; zero for none
}

// Then decides what follows the frames so far. It is called before the first frame and after each event, and returns
// each frame to insert once.
func (s *Stream) Then() Then {
	var t Then
	if s == nil {
		return t
	}
	for i, e := range s.effects {
		if s.events < e.from {
			continue
		}
		switch e.what {
		case insert:
			t.Insert = append(t.Insert, e.text)
			s.effects[i].what = 0
		case end:
			t.End = true
		case cut:
			t.Cut = true
		case expire:
			t.Expire = true
		case silence:
			t.Silence = e.rule
		}
	}
	return t
}

// Forget ends the effects of the rules that a function reports as ended.
func (s *Stream) Forget(ended func(rule int) bool) {
	if s == nil {
		return
	}
	s.effects = slices.DeleteFunc(s.effects, func(e ofRule) bool { return ended(e.rule) })
}
