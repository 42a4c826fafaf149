package core

import (
	"slices"
	"strconv"
)

// withVersion returns the text of an object with another metadata.resourceVersion. A text without one is returned as it
// is. Members of that name elsewhere in the object are left alone.
func withVersion(text []byte, version uint64) []byte {
	value := member(member(text, "metadata"), "resourceVersion")
	if len(value) == 0 || value[0] != '"' {
		return text
	}
	at := cap(text) - cap(value) // it is a part of the text
	return slices.Concat(text[:at+1], strconv.AppendUint(nil, version, 10), text[at+len(value)-1:])
}
