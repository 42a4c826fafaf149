package demo

import "time"

// Kind is the subject of a line.
type Kind string

const (
	// Story is an action of the demonstration, or an announcement.
	Story Kind = "story"
	// Event is a change of an object, as podscaler's watches see it.
	Event Kind = "event"
	// Log is a log entry of podscaler: a decision or a problem.
	Log Kind = "log"
	// Write is a request of podscaler that changes something.
	Write Kind = "write"
	// Reconcile is a finished reconcile.
	Reconcile Kind = "reconcile"
	// Expect is the result of an expectation.
	Expect Kind = "expect"
	// Summary is the last line of a story.
	Summary Kind = "summary"
)

// Line is one line of the demonstration, and one JSON object of its JSON form. Fields without a
// meaning for the kind are omitted.
type Line struct {
	// Time is in seconds since the story began.
	Time float64 `json:"time"`
	Kind Kind    `json:"kind"`
	// Object is the object of the line, as kind/name.
	Object string `json:"object,omitempty"`
	// Action is added, updated or deleted for an event, and the verb for a write. For a reconcile
	// it is the outcome: success, requeue_after, error.
	Action string `json:"action,omitempty"`
	// Text is for people.
	Text string `json:"text"`
	// Cause is the cause of a reconcile.
	Cause *Cause `json:"cause,omitempty"`
	// Code is that of the server's answer to a write. It is 0, and omitted, without an answer.
	Code int `json:"code,omitempty"`
	// Took is the duration of a reconcile or a write in milliseconds.
	Took float64 `json:"took,omitempty"`
	// Error is that of a reconcile or a write.
	Error string `json:"error,omitempty"`
	// OK says whether an expectation held. In the summary it says whether all did.
	OK *bool `json:"ok,omitempty"`
	// Counts are the numbers of lines of each kind so far, in the summary.
	Counts map[Kind]int `json:"counts,omitempty"`

	minor bool // of less interest
}

// Cause is the reason for a reconcile.
type Cause struct {
	// Trigger is listed, created, updated, deleted, retried or requeued.
	Trigger string `json:"trigger"`
	// Object is the changed object, as kind/name.
	Object string `json:"object,omitempty"`
	// Count is the number of triggers that this one reconcile answers.
	Count int `json:"count"`
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
