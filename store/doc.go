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
// # A lookup: Snapshot.Get, Store.Look
//
//  1. Load the published snapshot: one atomic load, no lock.
//  2. Find the slot of the key. A hash table that all snapshots share gives a candidate, and the key in its record is
//     compared. If it is another key, the tree of keys of this snapshot is searched.
//  3. Read the record of the slot: from the table of rejected entries, or from the heap.
//  4. Get copies the record into an Entry. Look lends it, until its function returns.
//
// # An insert or update: Txn.Put
//
//  1. Begin forks the published state. Nothing is copied: trees and tables copy the nodes that change.
//  2. Find the slot of the key in the transaction. Compare the entry with the stored one, or with the final state of
//     one that this transaction has deleted. A stale state is counted and ignored. An equal one is ignored.
//  3. Ask the index functions. An entry on which one fails is stored as rejected.
//  4. A new key gets a slot: its former one if this transaction has deleted it, else one of the free list.
//  5. Choose a template, pack the object against it, and write the record to the heap. The former record is
//     superseded.
//  6. Update the tree of keys and the indexes.
//  7. Add to the pending change of the key. It has the oldest and the newest state, and the uids of incarnations
//     between them.
//  8. Commit publishes the new state by one atomic store of a pointer, and returns the Changes. It frees superseded
//     records; memory that older snapshots hold stays until they are collected.
//
// # A delete: Txn.Delete
//
//  1. Find the slot. A key without a slot is reported as an object that came and went, unless the deletion is older
//     than the last commit.
//  2. A deletion of an incarnation older than the stored one is counted as stale and ignored.
//  3. Pack the final state, if the server has sent it.
//  4. Remove the slot from all indexes and from the tree of keys. Supersede its record.
//  5. Mark the pending change as deleted. Commit returns the slot to the free list.
//
// # A relist: Txn.Replace, Put …, Sweep
//
//  1. Replace opens the relist within a transaction. On the first list of an empty store no pending changes are kept:
//     every object is new.
//  2. Put works as above, and marks the slot as listed. After Reset it skips the comparison once for each key, since
//     the server went back in time.
//  3. Sweep deletes each key that was not listed. Its final state is unknown, and the Change says so.
//  4. Commit publishes all of it at once, with deletions first. A Commit before Sweep discards the transaction.
//
// A Snapshot is one consistent state of the objects and of all indexes. Holding one costs its
// readers nothing. A transaction works on trees of its own, so a relist may be collected over a
// long time. Readers see the state before it until Commit.
//
// An Entry is one state of one object: its key, a scanned header, and the object as packed bytes.
// The store decodes nothing; only index functions may.
package store
