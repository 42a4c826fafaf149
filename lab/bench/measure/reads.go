package measure

import (
	"context"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// onlyMetadata reports whether a contender has nothing but metadata to read.
func onlyMetadata(s Setup, name contender.Name) bool {
	return s.view(name, s.corpus().Resources()[0]) == contender.Metadata
}

// reading measures reads of objects from all over the corpus. Lists are counted per hundred objects
// returned. A contender without reads of headers or projections reads objects.
var reading = stage{
	name: "reads", help: "reads whose results may be changed, of headers, and of a few fields",
	cases: []caseOf{
		{"read: get", "µs"},
		{"read: get, allocations", ""},
		{"read: list by index, 100 objects", "µs"},
		{"read: list by index, 100 objects, allocations", ""},
		{"read: list by label, 100 objects", "µs"},
		{"read: list by label, 100 objects, allocations", ""},
		{"read: header", "µs"},
		{"read: header, allocations", ""},
		{"read: projected", "µs"},
		{"read: projected, allocations", ""},
		{"read: shared header", "µs"},
	},
	skip: onlyMetadata,
	run: func(_ context.Context, n *session) error {
		r, err := n.process.ask("reads")
		if err != nil {
			return err
		}
		for name, one := range r.Reads {
			n.set("read: "+name, one.NS/1000)
			n.set("read: "+name+", allocations", one.Allocs)
		}
		return nil
	},
}
