package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/lab/bench/contend"
)

const pace = 2000 // events a second

// updates measures changes at the highest rate.
var updates = stage{
	name: "updates", help: "changes, flat out, to the last handler",
	cases: []caseOf{
		{"CPU per event, flat out", "µs"},
		{"events per second, flat out", "1/s"},
		{"allocations per event, flat out", ""},
	},
	run: func(_ context.Context, n *session) error { return n.flatOut("") },
}

// pacing measures the latency of changes at a low rate.
var pacing = stage{
	name: "paced", help: "changes at 2,000 a second, from the server to the last handler",
	cases: []caseOf{
		{"event to handler at 2,000/s, p50", "µs"},
		{"event to handler at 2,000/s, p99", "µs"},
	},
	run: func(ctx context.Context, n *session) error { return n.paced(ctx, "event to handler at 2,000/s") },
}

// pathing measures the same with a controller on top: until a reconcile has read the change.
var pathing = stage{
	name: "path", help: "changes, from the server until a reconcile has read them", own: true,
	cases: []caseOf{
		{"event to reconciled at 2,000/s, p50", "µs"},
		{"event to reconciled at 2,000/s, p99", "µs"},
		{"CPU per event, flat out, to reconciled", "µs"},
		{"events per second, flat out, to reconciled", "1/s"},
		{"allocations per event, flat out, to reconciled", ""},
	},
	change: func(j *contend.Job) { j.Reconcile = true },
	run: func(ctx context.Context, n *session) error {
		for _, command := range []string{"sync", "settled"} {
			if _, err := n.process.ask("%s", command); err != nil {
				return err
			}
		}
		if err := n.flatOut(", to reconciled"); err != nil {
			return err
		}
		return n.paced(ctx, "event to reconciled at 2,000/s")
	},
}

// flatOut plays changes at once, and waits until the last change of each object has been handled.
// Earlier ones may be merged into it.
func (n *session) flatOut(suffix string) error {
	n.server.Ready(n.tape, n.setup.Events)
	before, err := n.process.ask("usage")
	if err != nil {
		return err
	}
	from, events := n.server.Happened(), n.setup.Events
	if err := n.server.Play(events); err != nil {
		return err
	}
	after, err := n.handled(from)
	if err != nil {
		return err
	}
	each := float64(events)
	n.set("CPU per event, flat out"+suffix, 1e6*(after.Usage.CPU-before.Usage.CPU)/each)
	n.set("events per second, flat out"+suffix, each/(float64(after.Usage.At-before.Usage.At)/1e9))
	n.set("allocations per event, flat out"+suffix, float64(after.Usage.Allocs-before.Usage.Allocs)/each)
	return nil
}

// paced plays changes evenly, and records when each was handled.
func (n *session) paced(ctx context.Context, name string) error {
	from, events := n.server.Happened(), n.setup.Paced
	n.server.Ready(n.tape, events)
	sent, err := n.server.PlayTimed(ctx, events, pace)
	if err != nil {
		return err
	}
	if _, err := n.handled(from); err != nil {
		return err
	}
	r, err := n.process.ask("times")
	if err != nil {
		return err
	}
	at := r.Handled()
	var lags []float64
	for i, t := range sent {
		k, there := from+i, true
		for there && at[k] == 0 {
			k, there = n.server.Next(k) // it was merged into the next change of the same object
		}
		if there { // otherwise the object was made and deleted at once
			lags = append(lags, float64(at[k]-t.UnixNano())/1000)
		}
	}
	if len(lags) < len(sent)/2 {
		return fmt.Errorf("of %d events only %d were handled", len(sent), len(lags))
	}
	slices.Sort(lags)
	n.set(name+", p50", quantile(lags, 0.5))
	n.set(name+", p99", quantile(lags, 0.99))
	return nil
}

// quantile returns a quantile of sorted numbers.
func quantile(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
