// Package controller calls a reconciler for each object that changes.
//
//	c, err := controller.New(mgr, "label", label, controller.For[corev1.Pod]())
//
// mgr is a *flyball.Manager, label a reconcile.Reconciler: a function of a request. [For], [Owns] and
// [Watches] name the kinds whose changes cause requests. c shows its state, and ends by Close. [NewWith]
// takes [Options]: workers, rate limits, timeouts, hooks.
//
//	For ───────┐  predicate   handler                                  ┌── worker 1 ── Reconcile ─┐
//	Owns ──────┤► (header) ► (requests) ──► workqueue ── Get ──────────┼── worker n               │
//	Watches ───┤                             ▲   one slot a key,       └──────────────────────────┘
//	Channel ───┘                             │   causes merged                    │
//	                                         └────── retry, requeue ◄── next(result, error)
//
// A predicate or handler that calls no function of a user runs on the goroutine that applied the change. All
// others of a source share a goroutine of that source. A slow one delays its own controller alone.
//
// The cache shows a change before its requests are queued. So a reconcile sees the change that caused it, or a
// newer state. Workers start when every source has handed over its existing objects; see
// Options.CacheSyncTimeout for those that fail. Two workers never reconcile one key at once. After the last
// change of a key at least one reconcile starts.
//
// Failures are isolated. A predicate that panics lets the event pass. A handler that fails is called again
// with backoff. A reconcile that panics counts as failed. A kind, namespace
// or cluster that cannot be watched is logged once, and all else goes on.
package controller
