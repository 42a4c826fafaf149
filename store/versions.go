package store

import "bytes"

// verdict is how a state stands to the one that is held.
type verdict int

const (
	newer verdict = iota
	same
	stale
)

// judge compares e with what is held of the same key.
func judge(held, e *Entry) verdict {
	was, is := held.record.meta(), e.record.meta()
	if !sameUID(&was, &is) {
		return newer
	}
	v := judgeVersions(&was, &is)
	if v == same && held.aside != nil && e.aside == nil {
		return newer // it could not be used then; perhaps it can be now
	}
	return v
}

// judgeVersions compares by resourceVersion alone. Where that says nothing, the later one is newer.
func judgeVersions(was, is *meta) verdict {
	if was.flags&flagNumber == is.flags&flagNumber && bytes.Equal(was.version, is.version) && len(is.version) > 0 {
		return same
	}
	if order, ok := compareVersions(is, was); ok && order < 0 {
		return stale
	}
	return newer
}
