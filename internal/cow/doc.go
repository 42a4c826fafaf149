// Package cow has a table and a sorted list of small numbers that are copied before they are
// changed: a copy of the value is a version of its own and costs nothing, and changing one version
// copies only the few nodes on the way to what changes.
//
//	was := state.slots                 // a version: two words
//	state.slots.Set(owner, 17, ref)    // copies a leaf and its branch, once for each owner
//	was.Get(17)                        // as it was
//
// Whoever changes a version names an [Owner]. Nodes made for that owner are changed in place by it,
// so that many changes copy each node once. To publish a version, use another Owner from then on.
//
// Versions are for one goroutine each; those that nobody changes any more are for all.
package cow

// Owner is the right to change nodes in place: those that were made for it.
type Owner struct {
	_ byte // two Owners have two addresses
}
