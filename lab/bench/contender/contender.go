// Package contender defines what is compared: ways of holding the objects of some kinds in memory.
// The contenders are Flyball's cache, client-go's informer and controller-runtime's cache, each in
// a package below this one. This package imports none of the three, so that each program links only
// its own.
//
// All contenders do the same. They list and watch each kind, with an index by node (or by the
// application's label, if the kind has no node). A handler sees every change, and callers may
// change the results of reads.
//
// Each contender can run with its defaults, or with the best settings that its documentation names
// for a program that needs no managedFields. It can hold Go types, unstructured objects, or
// metadata only. It can have a controller on top.
package contender

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/object"
)

// Options configures a contender.
type Options struct {
	// Config connects to the server. It has no content type: each kind has its own.
	Config *rest.Config
	// Kinds are held at the same time. There is at least one.
	Kinds []Kind
	// Best drops managedFields, and Keep keeps them. By default Flyball drops them, and its peers
	// keep them.
	Best, Keep bool
	// OnEvent gets the kind, as an index in Kinds, and the resourceVersion of each object of the
	// first list and of each later change. The last handler of the kind calls it, on one goroutine.
	OnEvent func(kind int, version string)
	// Reconcile replaces each handler by a controller with one worker: OnEvent gets the version that
	// each reconcile has read.
	Reconcile bool
	// Blocked is a further handler of the first kind, called with every object and change. It is
	// meant to block. Nil means none.
	Blocked func()
}

// Key names an object: its kind, as an index in Options.Kinds, and its key.
type Key struct {
	Kind int
	Key  object.Key
}

// Contender is one way of holding objects.
type Contender interface {
	// Run lists and watches until ctx ends.
	Run(ctx context.Context) error
	// WaitForSync returns nil when the first list is complete. It may fail before Run has begun.
	WaitForSync(ctx context.Context) error
	// Get reads one object, into memory that the caller may change.
	Get(key Key) error
	// ByIndex reads the objects of a node or application in the same way, and returns their number.
	// ByLabel does so for those with a value of the label AppLabel, in a namespace or, if that is
	// empty, in all. Kind is an index in Options.Kinds.
	ByIndex(kind int, value string) (int, error)
	ByLabel(kind int, namespace, value string) (int, error)
	// Some is ByIndex, limited to a few results.
	Some(kind int, value string, few int) (int, error)
	// Held returns the bytes held outside the Go heap.
	Held() int64
}

// Header reads the metadata of one object into memory that the caller may keep. A contender without
// such a read reads the object.
func Header(c Contender, key Key) error {
	if c, ok := c.(interface{ Header(Key) error }); ok {
		return c.Header(key)
	}
	return c.Get(key)
}

// Shared returns a read of one object's metadata without a copy. The result must not be changed. ok
// is false if the contender has no such read.
func Shared(c Contender) (read func(key Key) error, ok bool) {
	s, ok := c.(interface{ Shared(Key) error })
	if !ok {
		return nil, false
	}
	return s.Shared, true
}

// Project reads three fields of one object in the cheapest way. A contender without such a way
// reads the object.
func Project(c Contender, key Key) error {
	if c, ok := c.(interface{ Project(Key) error }); ok {
		return c.Project(key)
	}
	return c.Get(key)
}
