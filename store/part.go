package store

// Part is a part of an object. An Entry tells from digests whether another state has the same one.
type Part uint8

// The parts of an object. [wire.Digest] says what each contains.
const (
	Labels Part = iota
	Annotations
	Spec
	Status
	Owners
)

// partSet is a set of Parts.
type partSet uint8

func setOf(all []Part) (set partSet) {
	for _, p := range all {
		set |= 1 << p
	}
	return set
}

// sameParts returns the parts that are equal in two states of an object. a may be nil. If one is
// nil or rejected, no part counts as equal.
func sameParts(a, b *Entry) (same partSet) {
	if a == nil || a.rejected != nil || b.rejected != nil {
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
