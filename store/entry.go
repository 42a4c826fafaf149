package store

import (
	"unique"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Entry is one state of one object. It is immutable: an update makes a new Entry, and whoever
// holds an old one may go on reading it.
type Entry struct {
	header object.Header
	raw    wire.Raw
	aside  error
}

// NewEntry scans the header of an object and keeps its bytes, which the entry owns from then on.
// An error means that the header could not be read.
//
// Objects of one namespace share the string of its name, so that comparing their keys does not
// look at it.
func NewEntry(raw wire.Raw) (*Entry, error) {
	h, err := raw.Header()
	if err != nil {
		return nil, err
	}
	h.Namespace = unique.Make(h.Namespace).Value()
	return &Entry{header: h, raw: raw}, nil
}

// SetAside makes an entry that stands for an object that cannot be used: cause says why. The
// header holds what could be learned about it, the key at least. It is reported where the object
// is read, and replaced when the object changes.
func SetAside(h object.Header, cause error) *Entry { return &Entry{header: h, aside: cause} }

// Header is the scanned metadata. It is shared: read only.
func (e *Entry) Header() *object.Header { return &e.header }

// Err is the cause for which the object was set aside, or nil.
func (e *Entry) Err() error { return e.aside }

// Decode writes the object into a value of the caller's, which then owns all of it. It fails for
// an entry that was set aside, with the cause.
func (e *Entry) Decode(into object.Object) error {
	if e.aside != nil {
		return e.aside
	}
	return e.raw.Decode(into)
}

// Raw is the object as it came over the wire: read only. It is empty for an entry that was set aside.
func (e *Entry) Raw() wire.Raw { return e.raw }

// size is what the entry counts for in Stats.Bytes.
func (e *Entry) size() int { return len(e.raw.Bytes) }
