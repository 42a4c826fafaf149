package cache

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// Held returns a version of an object for the HeldBy of a client.Live. It reports false for a kind with a
// transform, because that is not held as received.
func (c *Cache) Held(kind schema.GroupVersionKind, key object.Key, uid types.UID, version string) (body []byte, protobuf, ok bool) {
	h := c.lookUp(kind, false)
	if _, other := c.transformed.Load(kind); h == nil || other {
		return nil, false, false
	}
	shares, err := h.in(key.Namespace)
	if err != nil {
		return nil, false, false
	}
	e, err := shares[0].informer().Entry(key)
	if err != nil || e.UID() != uid || e.ResourceVersion() != version {
		return nil, false, false
	}
	err = e.Read(func(raw wire.Raw) error {
		body, protobuf = raw.Clone().Bytes, raw.Encoding == wire.Protobuf
		return nil
	})
	return body, protobuf, err == nil
}
