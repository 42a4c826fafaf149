package store

import "bytes"

// verdict says how a state compares to the stored one of the same key.
type verdict int

const (
	newer verdict = iota
	same
	stale
)

// compareStates compares e with the stored state of the same key.
func compareStates(held, e *Entry) verdict {
	was, is := held.meta(), e.meta()
	if !sameUID(&was, &is) {
		return newer
	}
	v := compareByVersion(&was, &is)
	if v == same && held.rejected != nil && e.rejected == nil {
		return newer // it was rejected; now it may be usable
	}
	return v
}

// compareByVersion compares by resourceVersion alone. If versions do not compare, the later state is
// newer.
func compareByVersion(was, is *meta) verdict {
	if was.flags&flagNumber == is.flags&flagNumber && bytes.Equal(was.version, is.version) && len(is.version) > 0 {
		return same
	}
	if order, ok := compareVersions(is, was); ok && order < 0 {
		return stale
	}
	return newer
}
