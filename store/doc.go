// Package store keeps the latest state of every object of one kind, with any number of indexes. One
// goroutine writes; readers never wait for it, and it never waits for readers.
//
// Create a store with New. Write with Begin, Put and Delete, then Commit, which returns the
// Changes. Read with Snapshot: Get returns one Entry, Select and Index yield many. Look reads one
// object at the lowest cost. Entry.Decode writes an object into a value that the caller owns.
//
//	         Txn: Put, Delete, Replace … Sweep            Snapshot (immutable)
//	applier ───────────────────────────────────▶ Commit ─▶ objects by key ──────▶ Get, All, Select
//	                                               │       index name: (value, key) …
//	                                               └─▶ []Change: one for each key that changed
//
// One transaction runs as follows:
//
//  1. Begin forks the published state without copying it: all trees are copied on write, node by
//     node.
//  2. Put judges an object against the stored version, asks the index functions, packs the object
//     and writes a record.
//  3. Commit publishes the new state by one atomic store of a pointer, and returns the Changes.
//
// A Snapshot is one consistent state of the objects and of all indexes. Holding one costs its
// readers nothing. A transaction works on trees of its own, so a relist may be collected over a
// long time. Readers see the state before it until Commit.
//
// An Entry is one state of one object: its key, a scanned header, and the object as packed bytes.
// The store decodes nothing; only index functions may.
package store
