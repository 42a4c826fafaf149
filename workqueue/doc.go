// Package workqueue hands keys to workers: each key at most once in the queue, and never to two
// workers at a time. Adds may be delayed, rate limited and given a priority, and carry a small
// value that merges when the key is added again.
//
//	                 After, RateLimited                  highest priority first,
//	             ┌──► delayed ──(time comes)──┐           within one in order of readiness
//	AddWith ─────┤                            ├──► ready ──Get──► in flight ──Done──► gone
//	             └────────────────────────────┘      ▲                          │
//	                                                 └── added meanwhile ◄──────┘
//
// For each key there is at most one pending add, merged from all adds since it was last handed
// out: the value by Options.Merge, the priority as the highest, the time as the earliest. So an
// event cuts a long backoff, and a flood of events costs one slot.
//
// A Queue is what programs use. It is a lock and parked callers around a Core, which has no lock,
// goroutine or clock and can be stepped by hand. Neither starts a goroutine: whoever waits in Get
// waits for the next delayed item as well. A Queue that is dropped needs no closing.
package workqueue
