package store

// Part is a part of an object of which an Entry knows, without looking, whether another state has the
// same.
type Part uint8

// What is in each, [wire.Digest] says.
const (
	Labels Part = iota
	Annotations
	Spec
	Status
	Owners
)

// partSet is a set of them.
type partSet uint8

func setOf(all []Part) (set partSet) {
	for _, p := range all {
		set |= 1 << p
	}
	return set
}

// sameParts are those that two states of an object have in common. One of them may be nil, or set
// aside, of which nothing is known.
func sameParts(a, b *Entry) (same partSet) {
	if a == nil || a.aside != nil || b.aside != nil {
		return 0
	}
	x, y := a.record.meta(), b.record.meta()
	theirs := y.digest.parts()
	for i, p := range x.digest.parts() {
		if *p == *theirs[i] {
			same |= 1 << i
		}
	}
	return same
}
