package measure

import "context"

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
