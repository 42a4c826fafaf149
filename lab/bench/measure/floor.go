package measure

import (
	"context"
	"errors"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

// floor measures what the transport alone takes: a process that reads all bytes of the first list and
// of the changes, splits them into frames, and does nothing else. No client takes less CPU with the
// same HTTP client.
func (s Setup) floor(ctx context.Context, program string, name contender.Name, tape *replay.Tape, f *figures) (err error) {
	s.Log("%s: reading and splitting frames, nothing else", name.Library)
	n, err := open(ctx, program, s, name, tape, f, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	synced, err := n.process.ask("sync")
	if err != nil {
		return err
	}
	n.set("CPU until synced", synced.Usage.CPU-n.idle.CPU)
	n.set("time until synced", float64(synced.Usage.At-n.idle.At)/1e9)
	n.set("allocations until synced", float64(synced.Usage.Allocs-n.idle.Allocs))
	if !s.wanted(updates.name) || s.Lists != replay.Streaming {
		return nil
	}
	events, kinds := s.Events, len(s.corpus().Resources())
	n.server.Ready(tape, events)
	before, err := n.process.ask("usage")
	if err != nil {
		return err
	}
	if err := n.server.Play(events); err != nil {
		return err
	}
	after, err := n.process.ask("frames %d", tape.Len()+kinds+events) // with a bookmark of each kind
	if err != nil {
		return err
	}
	n.set("CPU per event, flat out", 1e6*(after.Usage.CPU-before.Usage.CPU)/float64(events))
	n.set("events per second, flat out", float64(events)/(float64(after.Usage.At-before.Usage.At)/1e9))
	return nil
}
