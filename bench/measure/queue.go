package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/object"
)

const (
	// addOne is CPU time, which others on the machine change less than the time that passes.
	addOne = "work queue: Add, Get, Done"
	// addMany is the same with as many keys at a time as a controller of Flyball's adds of a first
	// list. Who has no such call has to add one after the other here, too.
	addMany  = "work queue: AddAll of 256, Get, Done"
	together = 256
)

// queueing is the work queue alone: so many different keys of objects, half of them at a low
// priority, are added, then handed out and done with. No objects are held.
var queueing = stage{
	name: "queue", help: "the work queue: CPU for different keys through Add, Get and Done, with priorities", own: true,
	cases: []caseOf{{addOne, "ns"}, {addMany, "ns"}},
	run: func(_ context.Context, n *session) error {
		for _, one := range []struct {
			name string
			size int
		}{{addOne, 1}, {addMany, together}} {
			r, err := n.process.ask("queue %d %d", n.setup.Keys, one.size)
			if err != nil {
				return err
			}
			n.set(one.name, r.NS)
		}
		return nil
	},
}

// queue takes keys through the queue of the library, so many at a time, five times through a new
// one, of which the middle counts.
func (h *held) queue(arg string, r *report) error {
	var n, size int
	if _, err := fmt.Sscan(arg, &n, &size); err != nil {
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
		before := used().CPU
		fill(q, keys, size)
		for range keys {
			q.Take()
		}
		all = append(all, 1e9*(used().CPU-before)/float64(n))
	}
	slices.Sort(all)
	r.NS = all[len(all)/2]
	return nil
}

// fill adds keys, size of them at a time if the queue can.
func fill(q contender.Queue, keys []object.Key, size int) {
	if q, can := q.(contender.Together); can && size > 1 {
		for some := range slices.Chunk(keys, size) {
			q.AddAll(some)
		}
		return
	}
	for i, k := range keys {
		q.Add(k, i%2 == 0)
	}
}
