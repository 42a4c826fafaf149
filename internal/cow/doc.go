// Package cow has a table and a sorted list of small numbers with copy on write. A copy of the
// value is a version of its own and costs nothing. A change copies only the few nodes on its path.
//
//	was := state.slots                 // a version: two words
//	state.slots.Set(owner, 17, ref)    // copies a leaf and its branch, once for each owner
//	was.Get(17)                        // as it was
//
// Each change names an [Owner]. A node made for an owner is changed in place by that owner, so many
// changes copy each node once. To publish a version, use another Owner from then on.
//
// A version under change is for one goroutine. Versions that no longer change are for any number.
package cow

// Owner is the right to change in place the nodes that were made for it.
type Owner struct {
	_ byte // gives each Owner its own address
}
