// Package controller calls a reconciler until the cluster is as it should be.
//
//	For ───────┐  predicate   handler                                  ┌── worker 1 ── Reconcile ─┐
//	Owns ──────┤► (header) ► (requests) ──► workqueue ── Get ──────────┼── worker n               │
//	Watches ───┤   on the goroutine that     ▲   one slot a key,       └──────────────────────────┘
//	Channel ───┘   applied the change        │   causes merged                    │
//	                                         └────── retry, requeue ◄── next(result, error)
//
// A change is in the cache before its requests are queued, and workers start only after every
// source has handed over what was there at the start. So a reconcile sees the change that caused
// it, or a newer state. A key is never reconciled by two workers at once, and never lost: after
// its last change at least one reconcile starts.
//
// What fails is isolated: a predicate that panics lets the event pass, a handler that fails is
// called again with backoff, a reconcile that panics counts as one that failed. A kind that cannot
// be watched degrades this controller, says so once, and leaves the others alone.
package controller
