// Package probe answers whether a program is alive and ready, with one named check for each part.
// Make a [Set] with [New], add checks with [Set.Add], and serve [Set.Handler] to the kubelet:
//
//	ready, err := probe.New("readyz", probe.Options{})
//	remove, err := ready.Add("cache-pods", func(ctx context.Context) error { … })    nil: in order
//	ready.Mount(mux)                                                                 /readyz, /readyz/…
//
//	GET /readyz ──► Set ──┬──► cache-pods    func(ctx) error ──► ok ────────────┐
//	                      ├──► certificate   func(ctx) error ──► failed: … ─────┼──► 200 or 503, and the list
//	                      └──► lease         func(ctx) error ──► no answer ─────┘
//
// A [Group] answers for many checks in one call, if their states are read together.
//
// The checks of a set run concurrently, each with the same timeout. A check that panics or exceeds
// the timeout fails, and does not delay the others. It is not started again before it has returned,
// so a check that hangs costs one goroutine in all.
package probe
