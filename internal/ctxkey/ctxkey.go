// Package ctxkey has what contexts carry. Package controller sets the keys below, for package reconcile and adapters. A
// simulation sets turns, caches and reconciles: client, reflector, informer, workqueue and controller ask for them.
package ctxkey

// The keys of the cause and the logger of a reconcile, and of the queue in the context of a handler or a source.
type (
	Cause  struct{}
	Logger struct{}
	Queue  struct{}
)
