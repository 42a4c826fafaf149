// Package leader elects one of several processes by a Lease (coordination.k8s.io/v1). It keeps the
// other processes from writing.
//
// [New] makes an [Elector] for a Lease. [Elector.Run] calls a function while this process holds the
// Lease, and returns the function's error, or a [LostError]. [Elector.Fenced] returns a client that
// writes only while the Lease is held:
//
//	elector, err := leader.New(c, leader.Options{Namespace: "shop", Name: "shop-operator"})
//	fenced := elector.Fenced(c)
//	err = elector.Run(ctx, func(ctx context.Context) error { return work(ctx, fenced) })
//
// A process goes through these phases:
//
//	                 free, expired: take it           sure of it for RenewDeadline
//	Run ─► Standby ──────────────────────────► Leading ◄──────────────┐
//	         │  ▲                               │ │ │  renewed every RetryPeriod
//	   ctx   │  │ a Lease of another:           │ │ └──────────────┘
//	   ends  │  └─ wait, watch                  │ │
//	         │                lead has returned │ │ not renewed in time, taken, edited, deleted
//	         │          ┌───────────────────────┘ ▼
//	         ▼          ▼                       Lost ── ctx of lead ends with *LostError
//	        Done ◄── Releasing ◄────────────────  │     and Run waits for lead to return
//	         ▲                not renewed in time │
//	         └────────────────────────────────────┘
//
// Three rules make the election safe.
//
//   - A process counts its own term from before it sent the request, and for RenewDeadline only.
//   - It counts the term of another from when it first saw the record, for the longer of that
//     record's duration and LeaseDuration. The times in a Lease are stamps of other clocks; nothing
//     depends on them.
//   - Every write of the Lease replaces exactly the version that the process has seen.
//
// A Lease that is deleted, or that names no holder, is free only if its holder released it. If
// anyone else deleted or emptied it, its last holder is waited for as before.
//
// The clock is the monotonic clock of this machine; on Linux it advances while the machine is
// suspended. One assumption remains: the clocks of two machines run at about the same rate. The
// margin is LeaseDuration over RenewDeadline, half as much again by default.
//
// The fence of [Elector.Fenced] refuses a write unless the lease is valid by the clock of this
// machine. It does not depend on any goroutine that must notice the loss. When the term ends, it
// also cuts off the writes that are on their way.
//
// A standby watches the Lease and takes a released one at once. Without permission to watch, it
// reads the Lease every RetryPeriod. The package needs the verbs get, create, update and watch on
// leases.
//
// The Lease has the form of client-go's election, and each takes over from the other: a program may
// be rolled from one to the other.
//
// The decisions are those of a pure core, without clock, goroutine or network. [Elector] is the loop
// around it.
package leader
