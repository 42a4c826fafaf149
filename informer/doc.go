// Package informer keeps one kind of object, or a selection of it, in memory, and calls sources and
// handlers with its changes.
//
//	reflector ──► store ──┬──► snapshots: Lister, readers
//	list, watch   one     │
//	              writer  ├──► sources: every change, on the goroutine that applied it;
//	                      │    they must not block
//	                      └──► handlers: a goroutine and a queue of one slot a key each;
//	                           they may block, and delay nobody else
//
// [New] makes an [Informer], which runs once. [Informer.Subscribe] adds a source and [AddHandler] a
// handler. [NewLister] and [Informer.Entry] read.
//
// A change is in the store and in all of its indexes before a source or handler gets it. Handlers and
// callers of a Lister own the objects that they get.
//
// Most programs share informers among their users. Package cache does so: see cache.Open for handlers and
// listers, and cache.Cache for a client.
package informer
