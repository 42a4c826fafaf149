package store

import "github.com/flyball-io/flyball/object"

// verdict is how a state stands to the one that is held.
type verdict int

const (
	newer verdict = iota
	same
	stale
)

// judge compares e with what is held of the same key.
func judge(held, e *Entry) verdict {
	if !held.header.Same(&e.header) {
		return newer
	}
	v := judgeVersions(held, e)
	if v == same && held.aside != nil && e.aside == nil {
		return newer // it could not be used then; perhaps it can be now
	}
	return v
}

// judgeVersions compares by resourceVersion alone. Where that says nothing, the later one is newer.
func judgeVersions(held, e *Entry) verdict {
	was, is := held.header.ResourceVersion, e.header.ResourceVersion
	if was == is && is != "" {
		return same
	}
	if order, ok := object.CompareVersions(is, was); ok && order < 0 {
		return stale
	}
	return newer
}
