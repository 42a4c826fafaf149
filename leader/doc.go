// Package leader elects one of several processes by a Lease (coordination.k8s.io/v1), and keeps
// the others from writing.
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
// Three rules make it safe. A process counts its own time in the lease from before it asked for
// it, and for RenewDeadline only. It counts the time of others from when it first saw what they
// wrote, and for at least LeaseDuration, the longer of the two; the times in a Lease are stamps
// of other clocks and mean nothing. And every write of the Lease replaces the version that was
// seen. A Lease that is gone, or without its holder, is free only if the holder has released it:
// if somebody else deleted or emptied it, that holder is waited for as before. The clock is the monotonic one of this machine; on Linux it goes on while the machine is
// suspended. What is left is that the clocks of two machines run at about the same rate:
// LeaseDuration over RenewDeadline, half as much again by default.
//
// [Elector.Fenced] makes a client refuse writes unless the process is sure to lead, by the clock
// and not by whether somebody has noticed, and cuts off those that are on their way as that ends:
//
//	elector, err := leader.New(c, leader.Options{Namespace: "shop", Name: "shop-operator"})
//	fenced := elector.Fenced(c)
//	err = elector.Run(ctx, func(ctx context.Context) error { return work(ctx, fenced) })
//
// A standby watches the Lease, so that one that is released is taken at once; where it may not
// watch, it looks every RetryPeriod. It needs the verbs get, create, update and watch on leases.
//
// A Lease here looks like one of client-go's election, and each takes over from the other: a
// program may be rolled from one to the other.
//
// [Core] is the election without clock, goroutine or network; [Elector] is the loop around it.
package leader
