// Package contender says what is compared: ways of holding one kind of objects in memory. There are
// Flyball's cache, client-go's informer and controller-runtime's cache, each in a package below this
// one, which imports none of the three: a program has the one that it needs.
//
// All do the same: list and watch one kind, an index by node (or by the label of the application,
// where there are no nodes), a handler that sees every change, and reads whose results may be
// changed. Each can be had as it is by default, and with the best settings that its documentation
// has for a program that needs no managedFields; holding Go types, unstructured objects, or metadata
// only; and with a controller on top.
package contender

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/object"
)

// Options say what a contender holds.
type Options struct {
	// Config of the server. Its content type is that of the objects.
	Config *rest.Config
	// Resource is what is held, and View how.
	Resource corpus.Resource
	View     View
	// Best says that managedFields are not kept, Keep that they are: by default Flyball cuts them,
	// and its peers keep them.
	Best, Keep bool
	// OnEvent is told the resourceVersion of each object of the first list and of each change after
	// it, by the last handler, on one goroutine.
	OnEvent func(version string)
	// Reconcile puts a controller with one worker in the place of the handler: OnEvent is told the
	// version that each reconcile has read.
	Reconcile bool
	// Blocked is a further handler, which is called with every object and change: it is to block.
	// Nil: there is none.
	Blocked func()
}

// Contender is one way of holding objects.
type Contender interface {
	// Run lists and watches until ctx ends.
	Run(ctx context.Context) error
	// WaitForSync returns nil when the first list is there. It may fail as long as Run has not
	// begun.
	WaitForSync(ctx context.Context) error
	// Get reads one object, into memory that the caller may change.
	Get(key object.Key) error
	// ByIndex reads the objects of a node or application likewise, and returns how many there are;
	// ByLabel does so for those of a namespace whose label AppLabel has a value.
	ByIndex(value string) (int, error)
	ByLabel(namespace, value string) (int, error)
	// Some is ByIndex, but for the first few of what it finds.
	Some(value string, few int) (int, error)
	// Held is how many bytes are held outside the Go heap.
	Held() int64
}

// Header reads the metadata of one object, in the cheapest way that there is: for those who have
// none that is to read the object.
func Header(c Contender, key object.Key) error {
	if c, ok := c.(interface{ Header(object.Key) error }); ok {
		return c.Header(key)
	}
	return c.Get(key)
}

// Shared reads the metadata of one object without a copy: nothing of it may be changed. It reports
// false if the contender has no such read.
func Shared(c Contender) (read func(key object.Key) error, ok bool) {
	s, ok := c.(interface{ Shared(object.Key) error })
	if !ok {
		return nil, false
	}
	return s.Shared, true
}

// Project reads three fields of one object, in the cheapest way that there is: for those who have
// none that is to read the object.
func Project(c Contender, key object.Key) error {
	if c, ok := c.(interface{ Project(object.Key) error }); ok {
		return c.Project(key)
	}
	return c.Get(key)
}
