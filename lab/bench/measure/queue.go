package measure

import "context"

const (
	// addOne is CPU time, which depends less on other programs than elapsed time.
	addOne = "work queue: Add, Get, Done"
	// addMany is the same with as many keys at a time as a controller of Flyball adds for a first
	// list. A queue without such a call adds them one after the other.
	addMany  = "work queue: AddAll of 256, Get, Done"
	together = 256
)

// queueing measures the work queue alone. It adds different keys of objects, half of them at a low
// priority, and then gets and finishes them. No objects are held.
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
