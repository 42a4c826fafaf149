package client

import (
	"bytes"
	"container/list"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// recentBytes bounds the memory of recent. recentCost is what each object counts beside its bytes.
const recentBytes, recentCost = 4 << 20, 512

// recent keeps the objects that were read last, as the server sent them, for later updates. It keeps an
// object only if its Go type has lacked fields of some object before. For an object without unknown
// fields it keeps only the version.
type recent struct {
	mu    sync.Mutex
	byUID map[recentKey]*list.Element // of *recentObject
	order list.List                   // oldest first
	size  int
}

// recentKey identifies an object. The Go type tells a subresource of another kind from its object.
type recentKey struct {
	uid types.UID
	t   reflect.Type
}

type recentObject struct {
	key     recentKey
	version string
	raw     wire.Raw
}

func (o *recentObject) size() int { return recentCost + len(o.raw.Bytes) }

// note keeps an object that was decoded into o, if its Go type may lack fields.
func (r *recent) note(raw wire.Raw, o object.Object) {
	if formOf(o) != typed || o.GetUID() == "" || o.GetResourceVersion() == "" || !wire.Partial(o) {
		return
	}
	n := &recentObject{recentKey{o.GetUID(), reflect.TypeOf(o)}, o.GetResourceVersion(), raw}
	if more, err := raw.Unknown(o); err != nil {
		return
	} else if more {
		n.raw.Bytes = bytes.Clone(raw.Bytes)
	} else {
		n.raw.Bytes = empty(raw.Encoding)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byUID == nil {
		r.byUID = map[recentKey]*list.Element{}
	}
	if e := r.byUID[n.key]; e != nil {
		r.drop(e)
	}
	r.byUID[n.key] = r.order.PushBack(n)
	for r.size += n.size(); r.size > recentBytes; {
		r.drop(r.order.Front())
	}
}

// empty is the encoding of an object without fields.
func empty(enc wire.Encoding) []byte {
	if enc == wire.JSON {
		return []byte("{}")
	}
	return nil
}

func (r *recent) drop(e *list.Element) {
	o := r.order.Remove(e).(*recentObject)
	delete(r.byUID, o.key)
	r.size -= o.size()
}

// find returns the version of an object of o's type.
func (r *recent) find(o object.Object, uid types.UID, version string) (wire.Raw, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byUID[recentKey{uid, reflect.TypeOf(o)}]
	if e == nil || e.Value.(*recentObject).version != version {
		return wire.Raw{}, false
	}
	return e.Value.(*recentObject).raw, true
}
