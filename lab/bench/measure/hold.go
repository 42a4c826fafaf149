package measure

import (
	"context"
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/lab/bench/contend"
)

// holding measures the cost of having the objects: a process lists and watches them until the
// contender has synced, and then runs two collections.
var holding = stage{
	name: "hold", help: "what it costs to list and to hold the objects",
	cases: []caseOf{
		{"retained per object", "B"},
		{"retained, of wire bytes + 150 B", "×"},
		{"peak memory until synced", "MB"},
		{"peak memory, beginning to end", "MB"},
		{"CPU until synced", "s"},
		{"time until synced", "s"},
		{"allocations until synced", ""},
		{"collector's CPU until synced", "s"},
		{"forced collection, CPU", "ms"},
	},
	run: func(_ context.Context, n *session) error {
		synced, err := n.process.ask("sync")
		if err != nil {
			return err
		}
		if p := n.server.Protocol(); p == 2 != n.setup.TLS {
			return fmt.Errorf("HTTP/%d was spoken", p)
		}
		n.set("CPU until synced", synced.Usage.CPU-n.idle.CPU)
		n.set("time until synced", float64(synced.Usage.At-n.idle.At)/1e9)
		n.set("allocations until synced", float64(synced.Usage.Allocs-n.idle.Allocs))
		n.set("collector's CPU until synced", synced.Usage.GCCPU-n.idle.GCCPU)
		n.setPeak("peak memory until synced", synced.Usage.Peak)
		if _, err := n.process.ask("settled"); err != nil { // the calls of the handler make garbage
			return err
		}
		retained, err := n.process.ask("retained")
		if err != nil {
			return err
		}
		objects := float64(n.tape.Len())
		n.set("retained per object", float64(retained.Retained)/objects)
		n.set("retained, of wire bytes + 150 B", float64(retained.Retained)/(float64(n.tape.Bytes())+150*objects))
		return n.forced(retained.Usage)
	},
}

// forced measures a collection, as the median of five.
func (n *session) forced(before contend.Usage) error {
	var all []float64
	for range 5 {
		r, err := n.process.ask("gc")
		if err != nil {
			return err
		}
		all = append(all, 1000*(r.Usage.CPU-before.CPU))
		before = r.Usage
	}
	slices.Sort(all)
	n.set("forced collection, CPU", all[len(all)/2])
	return nil
}

// beginningToEnd is the peak over the whole life of the process.
func (n *session) beginningToEnd() error {
	r, err := n.process.ask("usage")
	if err != nil {
		return err
	}
	n.setPeak("peak memory, beginning to end", max(n.peak, r.Usage.Peak))
	return nil
}
