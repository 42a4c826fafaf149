package measure

import (
	"context"
	"strings"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// onlyMetadata reports whether a contender has nothing but metadata to read.
func onlyMetadata(s Setup, name contender.Name) bool {
	return s.view(name, s.corpus().Resources()[0]) == contender.Metadata
}

// reading measures reads of objects from all over the corpus. Lists are counted per hundred objects returned. A list
// within a namespace returns few, often one, so it is counted per call. How many a list returns is shown. A header is a
// copy that the caller may keep; a shared one is lent. A contender without reads of headers or projections reads objects.
var reading = stage{
	name: "reads", help: "reads whose results may be changed, of headers, and of a few fields",
	cases: []caseOf{
		{"read: get", "µs"},
		{"read: get, allocations", ""},
		{"read: list by index, 100 objects", "µs"},
		{"read: list by index, 100 objects, allocations", ""},
		{"read: list by index, objects of a list", ""},
		{"read: list by label, 100 objects", "µs"},
		{"read: list by label, 100 objects, allocations", ""},
		{"read: list by label, objects of a list", ""},
		{"read: list by label in a namespace", "µs"},
		{"read: list by label in a namespace, allocations", ""},
		{"read: list by label in a namespace, objects of a list", ""},
		{"read: header", "µs"},
		{"read: header, allocations", ""},
		{"read: projected", "µs"},
		{"read: projected, allocations", ""},
		{"read: shared header", "µs"},
		{"read: shared header, allocations", ""},
	},
	skip: onlyMetadata,
	run: func(_ context.Context, n *session) error {
		r, err := n.process.ask("reads")
		if err != nil {
			return err
		}
		for name, one := range r.Reads {
			name, times := "read: "+name, 1.0
			if strings.Contains(name, "list") {
				n.set(name+", objects of a list", one.Objects)
			}
			if perHundred[name] {
				name, times = name+", 100 objects", 100/one.Objects
			}
			n.set(name, times*one.NS/1000)
			n.set(name+", allocations", times*one.Allocs)
		}
		return nil
	},
}

// perHundred are the reads that are counted per hundred objects.
var perHundred = map[string]bool{"read: list by index": true, "read: list by label": true}
