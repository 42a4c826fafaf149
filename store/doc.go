// Package store keeps the latest state of every object of one kind, with any number of indexes
// over them. One goroutine writes; readers never wait for it, nor it for them.
//
//	         Txn: Put, Delete, Replace … Sweep            Snapshot (immutable)
//	applier ───────────────────────────────────▶ Commit ─▶ objects by key ──────▶ Get, All, Select
//	                                               │       index name: (value, key) …
//	                                               └─▶ []Change: one for each key that changed
//
// A Snapshot is one consistent state of objects and of all indexes. It is published by one atomic
// store of a pointer and costs its readers nothing to hold: all trees are copied on write, node by
// node, and share what did not change. A Txn works on trees of its own, so a relist may be
// collected over a long time while readers go on with the state before it.
//
// Objects are kept as Entry: the bytes from the wire and the scanned header. Nothing is decoded
// here, except by index functions that ask for it.
package store
