package client

import (
	"bytes"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// originalBytes bounds the memory of each half of originals. An object counts originalCost beside its bytes.
const originalBytes, originalCost = 2 << 20, 512

// originals keeps the objects that were read last, as the server sent them, for later updates. It keeps an
// object only if its Go type has lacked fields of some object before. For an object without unknown
// fields it keeps only the version.
type originals struct {
	mu sync.Mutex
	// young takes what is read. When it is full it becomes old, and what was old is dropped.
	young, old map[originalKey]originalObject
	size       int // of young
}

// originalKey identifies an object. The Go type tells a subresource of another kind from its object.
type originalKey struct {
	uid types.UID
	t   reflect.Type
}

type originalObject struct {
	version string
	raw     wire.Raw
}

// note keeps an object that was decoded into o, if its Go type may lack fields.
func (r *originals) note(raw wire.Raw, o object.Object) {
	if formOf(o) != typed || o.GetUID() == "" || o.GetResourceVersion() == "" || !wire.Partial(o) {
		return
	}
	switch more, err := raw.Unknown(o); {
	case err != nil:
		return
	case more:
		raw.Bytes = bytes.Clone(raw.Bytes)
	case raw.Encoding == wire.JSON:
		raw.Bytes = []byte("{}")
	default:
		raw.Bytes = nil
	}
	size := originalCost + len(raw.Bytes)
	if size > originalBytes {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size += size; r.young == nil || r.size > originalBytes {
		r.old, r.young, r.size = r.young, map[originalKey]originalObject{}, size
	}
	r.young[originalKey{o.GetUID(), reflect.TypeOf(o)}] = originalObject{o.GetResourceVersion(), raw}
}

// find returns the version of an object of o's type.
func (r *originals) find(o object.Object, uid types.UID, version string) (wire.Raw, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := originalKey{uid, reflect.TypeOf(o)}
	for _, half := range []map[originalKey]originalObject{r.young, r.old} {
		if found, ok := half[key]; ok && found.version == version {
			return found.raw, true
		}
	}
	return wire.Raw{}, false
}
