// Package cache answers reads from memory: informers by kind and selection behind one
// client.Reader.
package cache

import (
	"context"
	"iter"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
)

// Cache holds the kinds that were declared and answers reads of them. It implements
// client.Reader. All methods may be called from any goroutine.
type Cache struct{}

var _ client.Reader = (*Cache)(nil)

// Get implements client.Reader.
func (c *Cache) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	panic("soon")
}

// List implements client.Reader.
func (c *Cache) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	panic("soon")
}

// Open declares a kind (by the Go type of proto, or by the apiVersion and kind in an unstructured
// or metadata-only one) and returns a counted handle to its informer. The watch starts when the
// cache runs, at once if it does already, and ends when the last handle is closed. ctx bounds the
// look-up of the kind at the server.
func (c *Cache) Open(ctx context.Context, proto object.Object, sel informer.Selection) (*Handle, error) {
	panic("soon")
}

// Run runs the informers until ctx ends, and returns when all have ended, with the cause. It may
// be called again after it returned: every open kind starts afresh.
func (c *Cache) Run(ctx context.Context) error { panic("soon") }

// WaitForSync returns nil when every kind that is open has synced, or a *SyncError that names
// those that have not, and why, when ctx ends first.
func (c *Cache) WaitForSync(ctx context.Context) error { panic("soon") }

// IndexField declares an index of a kind by a function, before or while the cache runs. Its name
// is what a field selector of a List names.
func IndexField[T any, P object.Ptr[T]](c *Cache, name string, f func(*T) []string) error {
	panic("soon")
}

// Handle is one user's share of an informer.
type Handle struct{}

// Informer is the informer as of now: a cache that ran and stopped makes a new one.
func (h *Handle) Informer() *informer.Informer { panic("soon") }

// Close gives the share back. The last one ends the watch and frees the memory. Closing twice is
// fine.
func (h *Handle) Close() {}
