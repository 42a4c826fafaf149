package replay

// Plan is the changes that a tape has, after the first list. Step k is one event.
type Plan struct {
	// Events is how many there are.
	Events int
	// Keys is how many objects, the first of the corpus, change in turn. Zero: all.
	Keys int
}

// step is event k of a corpus of so many objects: which of them it is about, and how often that
// has changed then.
func (p Plan) step(objects, k int) (object, changes int) {
	keys := p.Keys
	if keys == 0 || keys > objects {
		keys = objects
	}
	return scatter(k, keys), 1 + k/keys
}

// scatter is the k-th of n objects in an order in which neighbours, who are alike, are far apart.
// Each n steps visit all.
func scatter(k, n int) int {
	for _, p := range []int{7919, 104729, 1299709} {
		if n%p != 0 {
			return k * p % n
		}
	}
	return k % n
}
