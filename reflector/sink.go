package reflector

import (
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Sink takes what a Reflector sees. Its methods are called from the goroutine of Run, one at a
// time, and must not block: the next frame is not read before they return.
//
// Outside of a replacement Upsert and Delete are changes in the order of the stream. Between
// BeginReplace and EndReplace they build up the new content instead: EndReplace takes it over as
// a whole, and what it does not hold is gone; AbortReplace drops it, as if it had never begun.
// Replacements do not nest. One that is open when Run returns is aborted first.
type Sink interface {
	// BeginReplace starts the new content. reset says that the server itself went back in time,
	// as after a restore from a backup: the versions of the new content are not to be compared
	// with those held, and everything counts as changed.
	BeginReplace(reset bool, reason Reason)
	// Upsert is an object that is there, in a new state. One that was set aside is passed like
	// any other, if at least its name is known. It may be a state that was passed before.
	Upsert(*store.Entry)
	// Delete is the last state of an object that went, with the version of its deletion. In a
	// replacement it takes the object out of the new content.
	Delete(last *store.Entry)
	// EndReplace takes the new content over. It is the state of the kind at resourceVersion,
	// which is empty if the kind is not served any more.
	EndReplace(resourceVersion string)
	AbortReplace()
	// Settle is called before the reflector waits, for the server or for anything else, and so nothing
	// comes for some time: what was passed had better be applied now.
	Settle()
	// Report tells of something that came over the wire and cannot be used. If it is an object of
	// known name, an Upsert or Delete of its entry follows.
	Report(Problem)
}

// Problem is a thing that came over the wire and cannot be used.
type Problem struct {
	// Key of the object, as far as it is known.
	Key object.Key
	// ResourceVersion of the object or, if that is unknown, the last one before it in the stream.
	ResourceVersion string
	Err             error
}
