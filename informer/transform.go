package informer

import (
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// ErrIdentity says that a transform changed the namespace, name, uid or resourceVersion of an object. Such an
// object is rejected.
var ErrIdentity = errors.New("the transform changed the identity of the object")

// Transform converts a function on a Go type for [Options].Transform. An object of another type fails, and is
// rejected.
func Transform[T any, P object.Ptr[T]](f func(obj P) error) func(object.Object) error {
	return func(o object.Object) error {
		p, ok := o.(P)
		if !ok {
			return fmt.Errorf("transform of %T: the object is a %T", P(nil), o)
		}
		return f(p)
	}
}

// prepare transforms an incoming entry. Each version is transformed once, and again if the server sends other
// bytes for it.
func (a *applier) prepare(e *store.Entry) *store.Entry {
	if e == nil || e.Err() != nil || a.in.o.Transform == nil {
		return e
	}
	held, ok := a.in.store.Snapshot().Lookup(e.Key())
	known := a.incoming.put(e)
	if ok && !a.reset && known && sameVersion(held, e) {
		return held
	}
	a.watch.Begin(slowCall{part: partTransform, key: e.Key()})
	defer a.watch.End()
	prepared, err := a.in.prepare(e)
	if err != nil {
		return store.Rejected(*e.Header(), err)
	}
	return prepared
}

func sameVersion(a, b *store.Entry) bool {
	return a.UID() == b.UID() && a.ResourceVersion() == b.ResourceVersion() && a.ResourceVersion() != ""
}

// incoming maps the hash of each key to the hash of its last bytes before the transform. It holds some 40 bytes
// for each object.
type incoming map[uint64]uint64

var incomingSeed = maphash.MakeSeed()

// put records the bytes of e. It reports whether they equal the last ones of the object.
func (c *incoming) put(e *store.Entry) bool {
	if *c == nil {
		*c = incoming{}
	}
	key, sum := maphash.Comparable(incomingSeed, e.Key()), maphash.Bytes(incomingSeed, e.Raw().Bytes)
	was, ok := (*c)[key]
	(*c)[key] = sum
	return ok && was == sum
}

func (c incoming) forget(key object.Key) {
	if c != nil {
		delete(c, maphash.Comparable(incomingSeed, key))
	}
}

func (in *Informer) prepare(e *store.Entry) (*store.Entry, error) {
	raw, err := in.transform(e.Raw())
	if err != nil {
		return nil, err
	}
	prepared, err := store.NewEntry(raw)
	if err != nil {
		return nil, err
	}
	was, is := e.Header(), prepared.Header()
	if was.Key != is.Key || was.UID != is.UID || was.ResourceVersion != is.ResourceVersion {
		return nil, ErrIdentity
	}
	return prepared, nil
}

// transform decodes an object, has the function change it, and encodes it again.
func (in *Informer) transform(raw wire.Raw) (wire.Raw, error) {
	obj := newObject(raw.Kind)
	err := run.Safely("transform", func() error {
		if err := raw.Decode(obj); err != nil {
			return err
		}
		return in.o.Transform(obj)
	})
	if err != nil {
		return wire.Raw{}, fmt.Errorf("transform: %w", err)
	}
	if m, ok := obj.(interface{ Marshal() ([]byte, error) }); ok && raw.Encoding == wire.Protobuf {
		bytes, err := m.Marshal()
		return wire.Raw{Kind: raw.Kind, Encoding: wire.Protobuf, Bytes: bytes}, err
	}
	bytes, _, err := wire.Encode(obj, raw.Kind.GVK, wire.JSON)
	return wire.Raw{Kind: raw.Kind, Encoding: wire.JSON, Bytes: bytes}, err
}

// newObject returns a value to decode an object of the kind into, of its Go type if there is one.
func newObject(k *wire.Kind) object.Object {
	if k.MetadataOnly {
		return &metav1.PartialObjectMetadata{}
	}
	if t := k.GoType(); t != nil {
		if o, ok := reflect.New(t).Interface().(object.Object); ok {
			return o
		}
	}
	return &unstructured.Unstructured{}
}
