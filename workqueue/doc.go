// Package workqueue hands keys to workers. A key is in the queue at most once, and never with two
// workers at a time. An add may be delayed, rate limited and given a priority. It may carry a small
// value, which merges with the value of a pending add.
//
// [New] makes a queue. Producers call [Queue.Add] or [Queue.AddWith]. A worker loops over
// [Queue.Get] and [Queue.Next]. After each item it calls [Queue.Retry] or [Queue.Forget].
// [Queue.ShutDownWithDrain] stops the adds and waits for the workers.
//
//	                 After, RateLimited                  highest priority first,
//	             ┌──► delayed ──(time comes)──┐           within one in order of readiness
//	AddWith ─────┤                            ├──► ready ──Get──► in flight ──Done──► released
//	             └────────────────────────────┘      ▲                          │
//	                                                 └─ added while in flight ◄─┘
//
// A key has at most one pending add. It merges all adds since the key was last handed out: the
// value by Options.Merge, the highest priority, the earliest time. So an event cuts a long backoff
// short, and a flood of events costs one slot.
//
// A queue starts no goroutine: a caller that waits in Get also waits for the next delayed item. A
// queue that is dropped needs no closing. Its core has no lock, goroutine or clock.
package workqueue
