package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/object"
)

// queueing is the work queue alone: so many different keys of objects, half of them at a low
// priority, are added, then handed out and done with. No objects are held.
var queueing = stage{
	name: "queue", help: "the work queue: different keys through Add, Get and Done, with priorities", own: true,
	cases: []caseOf{{"work queue: Add, Get, Done", "ns"}},
	run: func(_ context.Context, n *session) error {
		r, err := n.process.ask("queue %d", n.setup.Keys)
		if err == nil {
			n.set("work queue: Add, Get, Done", r.NS)
		}
		return err
	},
}

// queue takes keys through the queue of the library, five times through a new one, of which the
// middle counts.
func (h *held) queue(arg string, r *report) error {
	var n int
	if _, err := fmt.Sscan(arg, &n); err != nil {
		return err
	}
	keys := make([]object.Key, n)
	for i := range keys {
		keys[i] = object.Key{Namespace: fmt.Sprintf("team-%03d", i%50), Name: fmt.Sprintf("app-%04d-5d7c9b8f6d-%05x", i%5000, i)}
	}
	var all []float64
	for range 5 {
		q, err := contender.NewQueue(h.job.Name.Library)
		if err != nil {
			return err
		}
		began := time.Now()
		for i, k := range keys {
			q.Add(k, i%2 == 0)
		}
		for range keys {
			q.Take()
		}
		all = append(all, float64(time.Since(began).Nanoseconds())/float64(n))
	}
	slices.Sort(all)
	r.NS = all[len(all)/2]
	return nil
}
