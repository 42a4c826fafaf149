package contend

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contender"
)

// reads measures each kind of read.
func (h *held) reads(_ string, r *Report) error {
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
		all["list by index"] = func(i int) (int, error) {
			v := j.Values[i%len(j.Values)]
			return h.ByIndex(v.Kind, v.Value)
		}
	}
	if len(j.Labels) > 0 {
		all["list by label"] = func(i int) (int, error) {
			l := j.Labels[i%len(j.Labels)]
			return h.ByLabel(l.Kind, "", l.Value)
		}
		all["list by label in a namespace"] = func(i int) (int, error) {
			l := j.Labels[i%len(j.Labels)]
			return h.ByLabel(l.Kind, l.Namespace, l.Value)
		}
	}
	r.Reads = map[string]Read{}
	for name, f := range all {
		one, err := rounds(j.Reading, f)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Reads[name] = one
	}
	return nil
}

// rounds runs f for this long, three times, and returns the median.
func rounds(long time.Duration, f func(i int) (int, error)) (one Read, err error) {
	var all []Read
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
				return one, err
			}
			found += k
		}
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		times := float64(n - begin)
		all = append(all, Read{NS: float64(took.Nanoseconds()) / times, Allocs: float64(after.Mallocs-before.Mallocs) / times})
	}
	slices.SortFunc(all, func(a, b Read) int { return int(a.NS - b.NS) })
	one = all[1]
	one.Objects = float64(found) / float64(n)
	return one, nil
}
