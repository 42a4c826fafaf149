// Package ctxkey has the context keys that package controller sets. Package reconcile and adapters read them.
package ctxkey

// The keys of the cause and the logger of a reconcile, and of the queue in the context of a handler or a source.
type (
	Cause  struct{}
	Logger struct{}
	Queue  struct{}
)
