// Package informer keeps one kind of object, or a selection of it, in memory, and tells sources
// and handlers what changes.
//
//	reflector ──► delta.FIFO ──► applier ──► store ──► snapshots: Lister, readers
//	goroutine 1   one slot       goroutine 2   │
//	of the kind   for each key                 ├──► sources: called on the applier, every change,
//	                                           │    none merged; they must not block
//	                                           └──► handlers: one slot for each key, a goroutine
//	                                                each; they may block, and delay nobody else
//
// A change is in the store, in all of its indexes, before anyone is told of it. What handlers are
// given, and what a Lister returns, is decoded for the one who gets it and belongs to them.
//
// An [Informer] is of one kind and runs once. A [Factory] shares informers among those who open
// the same kind and selection, counts them, and can run again after it stopped.
package informer
