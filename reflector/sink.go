package reflector

import (
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Sink holds the content that a Reflector mirrors. The goroutine of Run calls its methods. They must not
// block: the Reflector reads nothing until they return.
type Sink interface {
	// Apply takes one update, in the order of the stream. It must not keep u.
	Apply(u *Update)
	// Commit makes the applied updates visible. A list that has begun stays invisible until Sweep. The
	// Reflector commits before it reads, waits or returns.
	Commit()
}

// Update is a change of the content, or of a list in progress.
type Update struct {
	What What
	// Entry is the object of a Put or an Outside, or the last state of the object of a Delete.
	Entry *store.Entry
	// Reset says that the server itself went back in time, as after a restore from a backup. The versions of
	// the list must not be compared with those of the held objects. Set for Replace only.
	Reset bool
	// Reason is why the list begins; see State.Relists. Set for Replace only.
	Reason string
	// Version is the resourceVersion of the new content. It is empty if the server no longer serves the
	// kind. Set for Sweep only.
	Version string
	// Audited is the version of the watch that the list audits; see Lost. Empty: none. Set for Sweep only.
	Audited string
	// Key, ResourceVersion and Err are set for Unusable only. Key may be empty or partial. For an unknown
	// version, ResourceVersion is the last one before it in the stream.
	Key             object.Key
	ResourceVersion string
	Err             error
}

// What is the kind of an Update.
type What uint8

const (
	// Put is an object in a new state, or in the held one. A rejected object is put too, if its name is
	// known.
	Put What = iota + 1
	// Delete is the end of an object. Within a list it removes the object from the new content.
	Delete
	// Replace begins a list. Each Put and Delete until its end belongs to the new content. Lists do not nest.
	Replace
	// Sweep completes the list. Its objects become the content, and all others are deleted.
	Sweep
	// Discard drops the list, as if it had never begun.
	Discard
	// Unusable reports an unreadable or rejected object, bookmark or stream. If the name of an object is
	// known, a Put or Delete of its entry may follow.
	Unusable
	// Outside is an object that Options.Within leaves out. It shows that the kind has namespaces.
	Outside
)
