package contend

import (
	"encoding/binary"
	"time"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// Job is what a contender's process is told to hold.
type Job struct {
	Name     contender.Name
	Resource corpus.Resource
	View     contender.View
	Best     bool
	Keep     bool
	URL      string
	CA       []byte // of the server, for TLS; then HTTP/2 is spoken
	Type     string // the content type of lists

	Objects int
	First   int // the version that event 0 has
	Events  int // of how many events the times are noted

	Reconcile bool // a controller on top
	Blocked   bool // a handler that will block

	Keys    []object.Key // which objects are read
	Values  []string     // by which values of the index
	Labels  []AppOf      // by which labels
	Reading time.Duration
}

// AppOf is a namespace and the value of a label.
type AppOf struct{ Namespace, Value string }

// Report is the answer to a command.
type Report struct {
	Error    string
	Usage    Usage
	Retained int64  // bytes of the heap after two collections, and outside it, but not those of an idle process
	Times    []byte // see Handled
	Reads    map[string]Read
	NS       float64
}

// Read is the cost of one.
type Read struct{ NS, Allocs float64 }

// Handled are the times of a report: when each event was handled, in nanoseconds of the wall clock;
// zero: not yet.
func (r Report) Handled() (at []int64) {
	for b := r.Times; len(b) >= 8; b = b[8:] {
		at = append(at, int64(binary.LittleEndian.Uint64(b)))
	}
	return at
}
