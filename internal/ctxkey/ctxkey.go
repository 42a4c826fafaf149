// Package ctxkey has the context keys that package controller sets and package reconcile reads.
package ctxkey

// The keys of the cause and the logger of a reconcile.
type (
	Cause  struct{}
	Logger struct{}
)
