package client

import (
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/object"
)

// Reader reads objects: from the server ([Live]) or from a cache. Programs read through the
// typed functions [Get], [List] and [ListPage]; Reader is what those stand on.
type Reader interface {
	// Get writes the object of the key into into, all of which then belongs to the caller. The Go
	// type of into names the kind; an unstructured or metadata-only object names it by its
	// apiVersion and kind. The namespace of the key is ignored for a cluster-scoped kind; a
	// namespaced kind must have one: an empty one, or an empty name, is an [InvalidKeyError].
	Get(ctx context.Context, key object.Key, into object.Object, o GetOptions) error
	// List yields each matching object, in a new value of proto's type that belongs to the
	// caller, in the order of the keys. The namespace of o is ignored for a cluster-scoped kind;
	// empty, it means all. An object that cannot be decoded is yielded as nil with
	// an error that names it, and the sequence goes on; any other error ends the sequence.
	List(ctx context.Context, proto object.Object, o ListOptions) iter.Seq2[object.Object, error]
}

// Writer makes every change to the cluster through one door, so that a wrapper (dry run, fence,
// record) sees them all. Programs write through [Create], [Update], [Patch], [Apply], [Delete]
// and the other typed functions.
type Writer interface {
	// Write sends one operation and returns the object as the server has it afterwards: a new
	// value of the type of op.Body, if there is one, else of op.Object. It is nil when the server
	// answered without one: a Delete of an object that is gone at once answers with a Status, and
	// so do some subresources.
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
