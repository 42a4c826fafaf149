package ctxkey

import "context"

// Cached is the cache of a kind, for a simulation that compares it with the server.
type Cached struct {
	// URL is that of the list which has the same objects.
	URL string
	// Done is closed when the cache has ended.
	Done <-chan struct{}
	// Held returns the objects. synced is false if there has been no complete list.
	Held func() (objects []Held, synced bool)
}

// Held is an object of a cache.
type Held struct {
	Namespace, Name, UID, Version string
	// JSON is the object without managedFields. nil: it is not held as the server has it.
	JSON []byte
}

// caches is the key of the function that takes each cache.
type caches struct{}

// WithCaches returns a context in which caches call see when they start.
func WithCaches(ctx context.Context, see func(Cached)) context.Context {
	return context.WithValue(ctx, caches{}, see)
}

// Show calls the function of [WithCaches]. Outside of a simulation it does nothing.
func Show(ctx context.Context, cached func() Cached) {
	if see, ok := ctx.Value(caches{}).(func(Cached)); ok {
		see(cached())
	}
}
