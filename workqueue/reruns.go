package workqueue

import "slices"

// reruns has the keys that were added while in flight. A key stays until it is handed out again. Few
// keys are reruns, so they have a map instead of a field of every entry.
type reruns struct {
	added map[number]int64 // when the add was due
	order []rerun          // in order of added; records that are no longer in added stay until compact
}

type rerun struct {
	n     number
	added int64
}

// keepReruns bounds the memory that an empty reruns keeps.
const keepReruns = 64

// append adds n, which must not be in it. Times must not decrease.
func (r *reruns) append(n number, added int64) {
	if r.added == nil {
		r.added = map[number]int64{}
	}
	if len(r.order) >= 2*len(r.added)+keepReruns {
		r.compact()
	}
	r.added[n] = added
	r.order = append(r.order, rerun{n, added})
}

// remove removes n. It reports false if n is not in it.
func (r *reruns) remove(n number) (added int64, ok bool) {
	if added, ok = r.added[n]; !ok {
		return 0, false
	}
	if delete(r.added, n); len(r.added) == 0 {
		if r.order = r.order[:0]; cap(r.order) > 4*keepReruns {
			*r = reruns{}
		}
	}
	return added, true
}

// first returns the time of the oldest rerun.
func (r *reruns) first() (added int64, ok bool) {
	for _, x := range r.order {
		if r.holds(x) {
			return x.added, true
		}
	}
	return 0, false
}

func (r *reruns) holds(x rerun) bool {
	added, ok := r.added[x.n]
	return ok && added == x.added
}

// compact drops the records that are no longer in added.
func (r *reruns) compact() {
	r.order = slices.DeleteFunc(r.order, func(x rerun) bool { return !r.holds(x) })
}
