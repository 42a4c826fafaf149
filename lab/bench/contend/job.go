package contend

import (
	"encoding/binary"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// Job tells a contender's process what to hold.
type Job struct {
	Name  contender.Name
	Kinds []contender.Kind
	Best  bool
	Keep  bool
	URL   string
	CA    []byte // of the server, for TLS with HTTP/2

	Objects []int // of each kind, in the first list
	First   int   // the version of event 0
	Events  int   // number of events whose times are recorded

	Reconcile bool // a controller on top of each kind
	Blocked   bool // a handler of the first kind that will block
	Start     bool // the start is measured: the process collects nothing before it is told to, and cannot tell what is retained

	Keys    []contender.Key // keys of the objects to read
	Values  []Value         // values of the index to read by
	Labels  []AppOf         // labels to read by
	Reading time.Duration
}

// Value is a value of the index of a kind.
type Value struct {
	Kind  int
	Value string
}

// AppOf is a namespace and a value of the label of a kind.
type AppOf struct {
	Kind             int
	Namespace, Value string
}

// Report is the answer to a command.
type Report struct {
	Error    string
	Usage    Usage
	Resident Resident
	Retained int64  // bytes of the heap after two collections, and outside the heap, less those of an idle process
	Times    []byte // see Handled
	Reads    map[string]Read
	NS       float64
}

// Read is the cost of one read, and how many objects it returned.
type Read struct{ NS, Allocs, Objects float64 }

// Handled decodes the times of a report: when each event was handled, in nanoseconds of the wall
// clock. Zero means not yet.
func (r Report) Handled() (at []int64) {
	for b := r.Times; len(b) >= 8; b = b[8:] {
		at = append(at, int64(binary.LittleEndian.Uint64(b)))
	}
	return at
}
