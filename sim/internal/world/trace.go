package world

import (
	"fmt"
	"strings"
	"time"

	"github.com/flyball-io/flyball/sim/internal/judge"
)

// Lane is whose doing an entry of a trace is.
type Lane string

const (
	laneUser    Lane = "user"
	laneProgram Lane = "program"
	laneView    Lane = "view"
	laneCluster Lane = "cluster"
	laneFault   Lane = "fault"
	laneWrong   Lane = "wrong" // what a program must not do
	laneWorld   Lane = "world"
)

// Entry is one thing that happened.
type Entry struct {
	At   time.Duration // since the begin
	Step int
	Lane Lane
	// Of is the program and the object; "" for what concerns neither.
	Of   string
	Text string
	// Where is the line of the program that made a call, as "folder/file.go:12"; "" if that is not known.
	Where string
	// Version is that of the object of an event. Body is the digest of what a call has sent.
	Version, Body uint64
	// Code is the answer to a call; zero if there was none.
	Code int
	// Fault says that a fault has happened here.
	Fault bool
}

// String returns the entry as a line.
func (e Entry) String() string {
	out := fmt.Sprintf("%9.3fs  %-7s  %s", e.At.Seconds(), e.Lane, e.Text)
	if e.Version != 0 {
		out += fmt.Sprintf(", version %d", e.Version)
	}
	if e.Where != "" {
		out += "  at " + e.Where
	}
	if e.Body != 0 {
		out += fmt.Sprintf("  (%08x)", uint32(e.Body))
	}
	return out
}

func (w *world) log(lane Lane, format string, args ...any) {
	w.add(Entry{Lane: lane, Text: fmt.Sprintf(format, args...), Fault: lane == laneFault})
}

// add adds an entry of now.
func (w *world) add(e Entry) {
	e.At, e.Step = time.Since(w.began), w.step
	w.out.Trace = append(w.out.Trace, e)
}

func (w *world) logCall(c *call, code int, note string) {
	if resourceOf(c.req.Target()) == leases {
		return // there are many, at times that are drawn
	}
	who := ""
	if name := c.from.process.program.Name; name != "" {
		who = name + ": "
	}
	text := who + c.at.Verb + " " + c.at.Object
	if code > 0 {
		text += fmt.Sprintf(" → %d", code)
	}
	if note != "" {
		text += ", " + note
	}
	e := Entry{Lane: laneProgram, Of: c.from.process.String() + " " + c.at.Object, Text: text, Where: c.where, Code: code, Fault: note != ""}
	if len(c.req.Body) > 0 {
		e.Body = digest(c.req.Body)
	}
	w.add(e)
}

func (w *world) logEvent(e *event) {
	if e.Object == nil || e.on.resource == leases {
		return
	}
	who, name := e.on.from.process.String(), judge.Name(e.key())
	w.add(Entry{Lane: laneView, Of: who + " " + name, Text: fmt.Sprintf("%s sees %s %s", who, e.Type, name), Version: e.version()})
}

// last returns the last calls, for an error.
func (w *world) last() (out []string) {
	for i := len(w.out.Trace) - 1; i >= 0 && len(out) < 12; i-- {
		if w.out.Trace[i].Lane == laneProgram {
			out = append(out, strings.TrimSpace(w.out.Trace[i].String()))
		}
	}
	return out
}
