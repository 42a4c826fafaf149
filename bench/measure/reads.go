package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/flyball-io/flyball/bench/contender"
)

// reading is what reads cost, of objects from all over the corpus. Lists are counted for each
// hundred objects that they return. What has no read of headers or projections has to read objects.
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
	skip: func(s Setup, name contender.Name) bool { view, _ := s.of(name); return view == contender.Metadata },
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

// read is the cost of one.
type read struct{ NS, Allocs float64 }

// reads measures each sort of read that there is.
func (h *held) reads(_ string, r *report) error {
	j := h.job
	one := func(f func(i int) error) func(int) (int, error) {
		return func(i int) (int, error) { return 1, f(i) }
	}
	key := func(i int) int { return i % len(j.Keys) }
	all := map[string]func(i int) (int, error){
		"get":       one(func(i int) error { return h.Get(j.Keys[key(i)]) }),
		"header":    one(func(i int) error { return contender.Header(h.Contender, j.Keys[key(i)]) }),
		"projected": one(func(i int) error { return contender.Project(h.Contender, j.Keys[key(i)]) }),
	}
	if shared, ok := contender.Shared(h.Contender); ok {
		all["shared header"] = one(func(i int) error { return shared(j.Keys[key(i)]) })
	}
	if len(j.Values) > 0 {
		all["list by index, 100 objects"] = func(i int) (int, error) { return h.ByIndex(j.Values[i%len(j.Values)]) }
	}
	if len(j.Labels) > 0 {
		all["list by label, 100 objects"] = func(i int) (int, error) {
			l := j.Labels[i%len(j.Labels)]
			return h.ByLabel(l.Namespace, l.Value)
		}
	}
	r.Reads = map[string]read{}
	for name, f := range all {
		one, objects, err := rounds(j.Reading, f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if objects != 1 {
			one.NS, one.Allocs = one.NS*100/objects, one.Allocs*100/objects
		}
		r.Reads[name] = one
	}
	return nil
}

// rounds runs f for that long, three times, and takes the middle; objects is how many f returns.
func rounds(long time.Duration, f func(i int) (int, error)) (one read, objects float64, err error) {
	var all []read
	var n, found int
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		begin := n
		for ; n-begin < 16 || time.Since(began) < long; n++ {
			k, err := f(n)
			if err == nil && k == 0 {
				err = errors.New("nothing was found")
			}
			if err != nil {
				return one, 0, err
			}
			found += k
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		times := float64(n - begin)
		all = append(all, read{float64(took.Nanoseconds()) / times, float64(after.Mallocs-before.Mallocs) / times})
	}
	slices.SortFunc(all, func(a, b read) int { return int(a.NS - b.NS) })
	return all[1], float64(found) / float64(n), nil
}
