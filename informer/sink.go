package informer

import (
	"github.com/flyball-io/flyball/delta"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// sink is what the reflector pushes into. A change that comes alone, with nothing at hand behind it,
// is applied by the goroutine that read it: to wake another one takes longer than that. Everything
// else is handed to the applier, so that reading and applying go on side by side. The sink blocks
// only while so much waits to be stored that the rest had better wait in the connection: what waits
// is not packed yet.
type sink struct {
	in        *Informer
	replacing bool
}

// How many objects may wait to be stored: of a list, of which each is another one, and of a watch,
// where an object that changes again takes no more room.
const (
	listAhead  = 64
	watchAhead = 1024
)

// fewAhead are the bytes of a watch that may have arrived behind a change that is applied at once:
// a few events.
const fewAhead = 16 << 10

func (s *sink) BeginReplace(reset bool, _ reflector.Reason) {
	s.replacing = true
	s.in.fifo.BeginReplace(reset)
}

func (s *sink) Upsert(e *store.Entry) {
	if s.replacing {
		s.in.fifo.Room(s.in.running(), listAhead)
		s.in.fifo.Push(delta.Replaced, e)
		return
	}
	s.change(delta.Updated, e)
}

func (s *sink) Delete(last *store.Entry) { s.change(delta.Deleted, last) }

func (s *sink) change(t delta.Type, e *store.Entry) {
	if !s.replacing && s.in.watch.Buffered() <= fewAhead && s.in.applier.now(t, e) {
		return
	}
	s.in.fifo.Room(s.in.running(), watchAhead)
	s.in.fifo.Push(t, e)
}

func (s *sink) EndReplace(version string) {
	s.replacing = false
	s.in.fifo.EndReplace(version)
}

func (s *sink) AbortReplace() {
	s.replacing = false
	s.in.fifo.AbortReplace()
}

// Report passes on what has no name. What has one follows as an entry that is set aside, and is
// reported when the store has it.
func (s *sink) Report(p reflector.Problem) {
	if p.Key.Name == "" {
		s.in.garbage(p)
	}
}
