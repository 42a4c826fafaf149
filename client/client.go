package client

import (
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
)

// Reader reads objects from the server ([Live]) or from a cache. Programs call the typed functions
// [Get], [List] and [ListPage], which call a Reader.
type Reader interface {
	// Get writes the object of the key into into. The caller owns all of it. The Go type of into
	// names the kind; an unstructured or metadata-only object names it by apiVersion and kind.
	// The namespace of the key is ignored for a cluster-scoped kind. An empty name is an
	// [ArgumentError], and so is an empty namespace for a namespaced kind.
	Get(ctx context.Context, key object.Key, into object.Object, o GetOptions) error
	// List yields each matching object in the order of the keys. Each is a new value of proto's
	// type, and the caller owns it. The namespace of o is ignored for a cluster-scoped kind; an
	// empty one means all namespaces. An object that cannot be decoded is yielded as nil, with an
	// error that names it, and the sequence continues. Any other error ends the sequence.
	List(ctx context.Context, proto object.Object, o ListOptions) iter.Seq2[object.Object, error]
}

// Writer makes all changes to the cluster by one method, so that a wrapper (dry run, fence, record)
// sees every one of them. Programs call [Create], [Update], [Patch], [Apply], [Delete] and the other
// typed functions.
type Writer interface {
	// Write sends one operation and returns the object as the server has it afterwards. The object
	// is a new value of the type of op.Body if that is set, else of op.Object. It is nil if the
	// server answers with a Status, as some subresources do, and a Delete that removes the object
	// at once.
	Write(ctx context.Context, op Op) (object.Object, error)
}

// Client reads and writes, and knows its kinds.
type Client interface {
	Reader
	Writer
	// Scheme knows the Go types of the kinds that this client reads and writes.
	Scheme() *runtime.Scheme
	// Mapper knows which resource serves a kind, and whether the kind is namespaced.
	Mapper() meta.RESTMapper
}
