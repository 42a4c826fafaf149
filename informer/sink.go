package informer

import (
	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// sink is what the reflector pushes into. The goroutine that reads applies what it has read, before it
// waits for more: to wake another one for it takes longer, and more of the CPU, than that. It reads on
// while the applier's own goroutine has the turn, and always where functions of the user may take long;
// but only until too much waits to be stored. The rest waits in the connection: what waits here is not
// packed yet.
type sink struct {
	in        *Informer
	replacing bool
	passed    int // since the last Settle
}

const (
	// together is how many changes are applied at once, at most: they are not packed before.
	together = 64
	// ahead is how many may wait for whoever has the turn.
	ahead = 1024
)

func (s *sink) BeginReplace(reset bool, _ reflector.Reason) {
	s.replacing = true
	s.in.fifo.BeginReplace(reset)
}

func (s *sink) Upsert(e *store.Entry) {
	t := delta.Updated
	if s.replacing {
		t = delta.Replaced
	}
	s.push(t, e)
}

func (s *sink) Delete(last *store.Entry) { s.push(delta.Deleted, last) }

func (s *sink) push(t delta.Type, e *store.Entry) {
	s.in.fifo.Push(t, e)
	if s.passed++; s.passed == together {
		s.Settle()
	}
}

func (s *sink) EndReplace(version string) {
	s.replacing = false
	s.in.avail.pushed++
	s.in.fifo.EndReplace(version)
}

func (s *sink) AbortReplace() {
	s.replacing = false
	s.in.fifo.AbortReplace()
}

// Settle applies what was passed, or leaves it to whoever has the turn.
func (s *sink) Settle() {
	s.passed = 0
	if s.in.readAhead.Load() || !s.in.applier.tryApply() {
		s.in.fifo.Wake()
		s.in.fifo.Room(s.in.running(), ahead)
	}
}

// Report passes on what has no name. What has one follows as an entry that is set aside, and is
// reported when the store has it.
func (s *sink) Report(p reflector.Problem) {
	if p.Key.Name == "" {
		s.in.garbage(p)
	}
}
