// Package synced says that an informer or a handler has synced, in the way that each version of client-go asks.
package synced

import (
	"reflect"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
)

// Checker has the methods by which client-go asks: HasSynced, and from v0.36 on HasSyncedChecker, whose result
// has a type that older versions do not have. Embed it.
type Checker = toolscache.ResourceEventHandlerRegistration

// Signal is set once. The Checker is a queue of client-go, which implements the interface in every version.
type Signal struct {
	Checker
	queue *toolscache.DeltaFIFO
	set   sync.Once
	done  chan struct{}
}

// New returns a signal that is not set. The name is for logs.
func New(name string) *Signal {
	var o toolscache.DeltaFIFOOptions
	if f := reflect.ValueOf(&o).Elem().FieldByName("Name"); f.IsValid() { // from v0.36 on
		f.SetString(name)
	}
	q := toolscache.NewDeltaFIFOWithOptions(o)
	return &Signal{Checker: q, queue: q, done: make(chan struct{})}
}

// Set sets the signal.
func (s *Signal) Set() {
	s.set.Do(func() {
		_ = s.queue.Replace(nil, "") // an empty queue has synced when its first list is empty
		close(s.done)
	})
}

// Done is closed when the signal is set. The Checker says so by then.
func (s *Signal) Done() <-chan struct{} { return s.done }
