package demo

import "time"

// Kind is what a line tells of.
type Kind string

const (
	// Story is what the demonstration does, or what it is about to show.
	Story Kind = "story"
	// Event is a change of an object, as podscaler's watches see it.
	Event Kind = "event"
	// Log is what podscaler logs: its decisions, and what goes wrong.
	Log Kind = "log"
	// Write is a request of podscaler that changes something.
	Write Kind = "write"
	// Reconcile is a reconcile that has ended.
	Reconcile Kind = "reconcile"
	// Expect is an expectation: whether it held.
	Expect Kind = "expect"
	// Summary is the last line of a story.
	Summary Kind = "summary"
)

// Line is one line of the demonstration, and one JSON object of its JSON form. Fields that have
// no meaning for the kind are left out.
type Line struct {
	// Time in seconds since the story began.
	Time float64 `json:"time"`
	Kind Kind    `json:"kind"`
	// Object that the line is about, as kind/name.
	Object string `json:"object,omitempty"`
	// Action: added, updated or deleted for an event; the verb for a write; how it ended for a
	// reconcile: success, requeue_after, error.
	Action string `json:"action,omitempty"`
	// Text for people.
	Text string `json:"text"`
	// Cause of a reconcile.
	Cause *Cause `json:"cause,omitempty"`
	// Code of the server's answer to a write; 0, and left out, if there was none.
	Code int `json:"code,omitempty"`
	// Took is how long a reconcile or a write took, in milliseconds.
	Took float64 `json:"took,omitempty"`
	// Error of a reconcile or a write.
	Error string `json:"error,omitempty"`
	// OK says whether an expectation held; in the summary, whether all did.
	OK *bool `json:"ok,omitempty"`
	// Counts are the lines of each kind so far, in the summary.
	Counts map[Kind]int `json:"counts,omitempty"`

	aside bool // of less interest
}

// Cause is why a reconcile ran.
type Cause struct {
	// Trigger: listed, created, updated, deleted, retried or requeued.
	Trigger string `json:"trigger"`
	// Object whose change it was, as kind/name.
	Object string `json:"object,omitempty"`
	// Count is how many triggers this one reconcile answers.
	Count int `json:"count"`
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
