package replay

// Plan describes the changes on a tape after the first list. Step k is one event.
type Plan struct {
	// Events is the number of changes.
	Events int
	// Keys is the number of objects that change in turn, the first of the corpus. Zero means all.
	Keys int
}

// step returns the object of event k in a corpus of this many objects, and the number of its
// changes by then.
func (p Plan) step(objects, k int) (object, changes int) {
	keys := p.Keys
	if keys == 0 || keys > objects {
		keys = objects
	}
	return scatter(k, keys), 1 + k/keys
}

// scatter returns the k-th of n objects in an order that keeps neighbours, which are alike, far
// apart. Each n steps visit all.
func scatter(k, n int) int {
	for _, p := range []int{7919, 104729, 1299709} {
		if n%p != 0 {
			return k * p % n
		}
	}
	return k % n
}
