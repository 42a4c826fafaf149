package ctrl

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// NewClient returns a client of controller-runtime over a manager. It reads and writes where
// flyball.Manager.Client does: the packed cache answers about kinds that are open, and the server about any
// other kind. A read never opens a kind.
//
// Errors of the server are *apierrors.StatusError, and errors.As finds those of package client in them, too.
// A write of a program that has lost its lease is a *client.FencedError. A read of an open kind that has not
// synced, as before the manager runs, is an *informer.NotSyncedError.
//
// Each read is a copy: UnsafeDisableDeepCopy is accepted and saves nothing. An update of a typed object
// keeps the fields that its Go type does not have; see client.Update. A field selector of a list needs an
// index of the cache, as [Cache.IndexField] makes it, where the cache answers.
func NewClient(mgr *flyball.Manager) crclient.WithWatch {
	return newClient(mgr, mgr.Client())
}

// NewUnfencedClient is [NewClient] for controllers that run on every replica: it writes whether this process
// leads or not.
func NewUnfencedClient(mgr *flyball.Manager) crclient.WithWatch {
	return newClient(mgr, mgr.Unfenced())
}

// NewAPIReader returns a reader that asks the server, past the cache.
func NewAPIReader(mgr *flyball.Manager) crclient.Reader {
	return &clientOf{rw: mgr.Live(), pages: mgr.Live(), live: mgr.Live()}
}

func newClient(mgr *flyball.Manager, rw client.Client) *clientOf {
	return &clientOf{rw: rw, pages: rw.(client.PartialReader), live: mgr.Live(), cache: mgr.Cache()}
}

// clientOf implements client.WithWatch of controller-runtime.
type clientOf struct {
	rw    client.Client
	pages client.PartialReader // rw
	live  *client.Live         // for watches
	cache *cache.Cache         // nil: rw does not read from a cache
}

var _ crclient.WithWatch = (*clientOf)(nil)

// Scheme implements client.Client.
func (c *clientOf) Scheme() *runtime.Scheme { return c.rw.Scheme() }

// RESTMapper implements client.Client.
func (c *clientOf) RESTMapper() meta.RESTMapper { return c.rw.Mapper() }

// GroupVersionKindFor implements client.Client.
func (c *clientOf) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, c.Scheme())
}

// IsObjectNamespaced implements client.Client.
func (c *clientOf) IsObjectNamespaced(obj runtime.Object) (bool, error) {
	return apiutil.IsObjectNamespaced(obj, c.Scheme(), c.RESTMapper())
}

// target is an object of the caller during one call.
type target struct {
	// object is that of the caller, with its kind set, or an unstructured one in the place of another
	// implementation of runtime.Unstructured.
	object object.Object
	given  crclient.Object
	had    schema.GroupVersionKind // as the caller gave it
	kind   schema.GroupVersionKind
}

// target sets the kind of an object. The caller ends it with done.
func (c *clientOf) target(obj crclient.Object) (*target, error) {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	t := &target{object: obj, given: obj, had: obj.GetObjectKind().GroupVersionKind(), kind: kind}
	if u, ok := obj.(runtime.Unstructured); ok && !object.Untyped(obj) {
		t.object = &unstructured.Unstructured{Object: u.UnstructuredContent()}
	}
	t.object.GetObjectKind().SetGroupVersionKind(kind)
	return t, nil
}

// fill replaces the object by an answer of the server.
func (t *target) fill(got object.Object) {
	if got != nil && reflect.TypeOf(got) == reflect.TypeOf(t.object) {
		reflect.ValueOf(t.object).Elem().Set(reflect.ValueOf(got).Elem())
	}
}

// done gives the object back to the caller, with the kind that it had.
func (t *target) done() {
	if u, ok := t.given.(runtime.Unstructured); ok && t.object != t.given {
		u.SetUnstructuredContent(t.object.(*unstructured.Unstructured).Object)
	}
	t.given.GetObjectKind().SetGroupVersionKind(t.had)
}

// key is the key of the object.
func (t *target) key() object.Key { return object.KeyOf(t.object) }

// untag empties the TypeMeta of a typed object, as the decoder of client-go leaves it.
func untag(o object.Object) {
	if !object.Untyped(o) {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// newLike returns an empty object of a kind in the form of a list: typed, unstructured or metadata only.
func newLike(list runtime.Object, kind schema.GroupVersionKind, scheme *runtime.Scheme) (object.Object, error) {
	var o object.Object
	switch list.(type) {
	case runtime.Unstructured:
		o = &unstructured.Unstructured{}
	case *metav1.PartialObjectMetadataList, *metav1.PartialObjectMetadata:
		o = &metav1.PartialObjectMetadata{}
	default:
		item, err := scheme.New(kind)
		if err != nil {
			return nil, err
		}
		typed, ok := item.(object.Object)
		if !ok {
			return nil, &object.UnknownKindError{Type: kind.String(), Err: errNoMetadata}
		}
		o = typed
	}
	o.GetObjectKind().SetGroupVersionKind(kind)
	return o, nil
}
