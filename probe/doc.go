// Package probe answers whether a program is alive and ready, check by check.
//
//	GET /readyz ──► Set ──┬──► cache-pods    func(ctx) error ──► ok ────────────┐
//	                      ├──► certificate   func(ctx) error ──► failed: … ─────┼──► 200 or 503, and the list
//	                      └──► lease         func(ctx) error ──► no answer ─────┘
//
// A [Group] is many checks in one call, for those whose states are read together.
//
// The checks of a [Set] run at once, each with the same bound. One that panics, or does not answer
// in time, has failed, and holds up nobody: it is not started again before it has returned, so that
// a check that hangs costs one goroutine, however often it is asked for.
package probe
