// Package plan says what goes wrong in a run of a simulation, and when. A plan is a text that a person can read:
//
//	crash-after@2:create:secrets/default/a-tls late@3:MODIFIED:configmaps/default/a#2
//
// A fault happens at a point. A point is named by content, so that a plan survives changes of the code elsewhere: the
// step, what is done to which object, and the how-many-th time that is.
package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is what goes wrong.
type Kind string

// The kinds of faults at a call.
const (
	// CrashBefore ends the program before its write arrives, and starts it again.
	CrashBefore Kind = "crash-before"
	// CrashAfter ends the program when its write is done and before it has the answer, and starts it again.
	CrashAfter Kind = "crash-after"
	// Lost applies a call and loses its answer.
	Lost Kind = "answer-lost"
	// RequestLost loses a call before it arrives. It fails at once, with an EOF; users keep plans with the text "timeout".
	RequestLost Kind = "timeout"
	// Behind lets all else go on before the call is answered: events reach the views of the program, other calls are
	// answered, and others work.
	Behind Kind = "events-first"
	// Reversed answers a list in the opposite order, and all later lists of the resource. The API promises no order.
	Reversed Kind = "reversed"
	// Touched lets somebody else add an annotation to the object before the call arrives.
	Touched Kind = "touched"
	// NextStep does the next step of the user before the call arrives.
	NextStep Kind = "next-step"
	// Outage makes the server unreachable for the program, from this call on for a while. Its watches are cut.
	Outage Kind = "outage"
	// Partition is an outage that is longer than a lease. It also happens at the beginning of a step.
	Partition Kind = "partition"
	// HooksAway makes the webhooks unreachable while the server carries the call out.
	HooksAway Kind = "webhooks-away"
	// The errors that a server answers.
	Forbidden   Kind = "403"
	NotServed   Kind = "404"
	Conflict    Kind = "409"
	Gone        Kind = "410"
	Invalid     Kind = "422"
	TooMany     Kind = "429"
	Internal    Kind = "500"
	Unavailable Kind = "503"
)

// The kinds of faults at an event of a watch.
const (
	// Merge leaves an event out, if another one of its object comes within two seconds. That one has what it said, as
	// after a watch that was cut.
	Merge Kind = "merged"
	// Late holds back the watch from this event for two seconds.
	Late Kind = "late"
	// Lag holds back the watch from this event until the end of a later step, or of this one.
	Lag Kind = "lag"
	// Silent lets nothing come for six minutes over the watch, and over all others of its path that are open or opened
	// meanwhile. Their connections live. It ends with the process.
	Silent Kind = "silent"
	// Swap delivers an event of another watch or object first.
	Swap Kind = "swap"
	// Cut ends the watch before this event.
	Cut Kind = "cut"
	// Expire ends the watch before this event, and says that its version is too old.
	Expire Kind = "expired"
	// CutOff breaks the watch before this event, and loses the request that opens it again.
	CutOff Kind = "cut-off"
	// Revoked ends the watch before this event, and refuses the request that opens it again with a 403.
	Revoked Kind = "revoked"
	// AtOnce holds back the watch from this event until the next one of its object, two seconds at most. All until then
	// comes in one piece.
	AtOnce Kind = "at-once"
	// Stale starts the program again at the end of a step, as a process that has listed before this event and then stood
	// still. Its watches, and the lists with which they begin, show nothing newer until all is at rest. Its other reads
	// show the present.
	Stale Kind = "stale"
	// StaleKind is Stale for the kind of the event alone.
	StaleKind Kind = "stale-kind"
)

// Edited changes a field that a program has written, when all is at rest at the end of a step.
const Edited Kind = "edited"

// The kinds of faults at the beginning of a step alone, when all is at rest.
const (
	// Restart ends the program and starts it again.
	Restart Kind = "restart"
	// Hour lets an hour pass before the step.
	Hour Kind = "hour"
	// LastFirst ends the program and starts it again. From then on its queues hand out first what became ready last.
	LastFirst Kind = "last-first"
)

// Code returns the code of an error that a server answers; zero for other kinds.
func (k Kind) Code() int {
	if len(k) == 3 && k[0] == '4' || len(k) == 3 && k[0] == '5' {
		n, _ := strconv.Atoi(string(k)) // they are constants
		return n
	}
	return 0
}

// Until reports whether a fault of the kind lasts until the end of a step that it names.
func (k Kind) Until() bool { return k == Lag || k == Stale || k == StaleKind }

// Point is one choice of a run: a call of the program, an event for one of its watches, or the begin of a step. At the
// end of a step it is a field of an object.
type Point struct {
	// Program names the program; "" is the one that the scenario is about.
	Program string
	// Step is the number of the step, counted from 1. Zero is the start of the programs.
	Step int
	// Verb is that of a call, such as "create", the type of an event, such as "ADDED", "begin", or "rest".
	Verb string
	// Object has the resource, and where they are known the namespace, the name and the subresource.
	Object string
	// Nth counts the points of the step with this verb and object, from 1: of "rest" the fields, in the order of their paths.
	Nth int
}

// Event reports whether the point is an event of a watch.
func (p Point) Event() bool { return p.Verb == strings.ToUpper(p.Verb) }

// Writes reports whether the point is a call that changes something.
func (p Point) Writes() bool {
	switch p.Verb {
	case "create", "update", "patch", "apply", "delete", "deletecollection":
		return true
	}
	return false
}

// String returns the point as a text without spaces: [PROGRAM/]STEP:VERB:OBJECT[#NTH].
func (p Point) String() string {
	out := fmt.Sprintf("%d:%s:%s", p.Step, p.Verb, p.Object)
	if p.Program != "" {
		out = p.Program + "/" + out
	}
	if p.Nth > 1 {
		out += "#" + strconv.Itoa(p.Nth)
	}
	return out
}

// Fault is one thing that goes wrong.
type Fault struct {
	Kind Kind
	At   Point
	// Until is the step at whose end it is over, for the kinds that last.
	Until int
}

// Last returns the last step in which the fault makes the course another one.
func (f Fault) Last() int {
	if f.Kind == NextStep {
		return f.At.Step + 1
	}
	return max(f.At.Step, f.Until)
}

// String returns the fault as a text without spaces: KIND[~UNTIL]@POINT.
func (f Fault) String() string {
	kind := string(f.Kind)
	if f.Kind.Until() {
		kind += "~" + strconv.Itoa(f.Until)
	}
	return kind + "@" + f.At.String()
}

// Plan is what goes wrong in one run, in the order of time. The zero value is a run without faults.
type Plan []Fault

// String returns the faults, separated by spaces; "none" if there are none.
func (p Plan) String() string {
	if len(p) == 0 {
		return "none"
	}
	parts := make([]string, len(p))
	for i, f := range p {
		parts[i] = f.String()
	}
	return strings.Join(parts, " ")
}

// Compare orders plans: those of fewer faults first.
func (p Plan) Compare(q Plan) int {
	return cmp.Or(len(p)-len(q), slices.CompareFunc(p, q, func(f, g Fault) int {
		return cmp.Or(f.At.Step-g.At.Step, f.At.Nth-g.At.Nth, f.Until-g.Until, strings.Compare(f.At.Object, g.At.Object),
			strings.Compare(f.At.Verb, g.At.Verb), strings.Compare(f.At.Program, g.At.Program), strings.Compare(string(f.Kind), string(g.Kind)))
	}))
}

// known has every kind.
var known = []Kind{CrashBefore, CrashAfter, Lost, RequestLost, Behind, Reversed, Touched, NextStep, Outage, Partition, HooksAway, Forbidden, NotServed, Conflict, Gone, Invalid, TooMany, Internal, Unavailable,
	Merge, Late, Silent, Lag, Swap, Cut, Expire, CutOff, Revoked, AtOnce, Stale, StaleKind, Edited, Restart, Hour, LastFirst}

// Parse reads what [Plan.String] has written. The error names the part that cannot be read.
func Parse(text string) (Plan, error) {
	var out Plan
	for _, part := range strings.Fields(text) {
		if part == "none" {
			continue
		}
		f, err := parseFault(part)
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", part, err)
		}
		out = append(out, f)
	}
	return out, nil
}

func parseFault(text string) (f Fault, err error) {
	kind, at, ok := strings.Cut(text, "@")
	if !ok {
		return f, fmt.Errorf("it has the form KIND@POINT")
	}
	kind, until, lasts := strings.Cut(kind, "~")
	f.Kind = Kind(kind)
	if !slices.Contains(known, f.Kind) {
		return f, fmt.Errorf("there is no kind %q; there are %v", kind, known)
	}
	if lasts != f.Kind.Until() {
		return f, fmt.Errorf("a fault of the kind %q has %s", kind, map[bool]string{true: "its last step, as in lag~2@…", false: "no last step"}[f.Kind.Until()])
	}
	if lasts {
		if f.Until, err = strconv.Atoi(until); err != nil {
			return f, fmt.Errorf("the step %q is no number", until)
		}
	}
	f.At, err = parsePoint(at)
	return f, err
}

func parsePoint(text string) (p Point, err error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) != 3 {
		return p, fmt.Errorf("the point %q has the form STEP:VERB:OBJECT", text)
	}
	step := parts[0]
	if i := strings.LastIndexByte(step, '/'); i >= 0 {
		p.Program, step = step[:i], step[i+1:]
	}
	if p.Step, err = strconv.Atoi(step); err != nil || p.Step < 0 {
		return p, fmt.Errorf("the step %q is no number", step)
	}
	p.Verb, p.Object, p.Nth = parts[1], parts[2], 1
	if i := strings.LastIndexByte(p.Object, '#'); i >= 0 {
		if p.Nth, err = strconv.Atoi(p.Object[i+1:]); err != nil || p.Nth < 1 {
			return p, fmt.Errorf("the number %q is none from 1", p.Object[i+1:])
		}
		p.Object = p.Object[:i]
	}
	return p, nil
}
