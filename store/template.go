package store

import (
	"container/list"
	"sync/atomic"
	"unsafe"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/object"
)

// template is an object that others are packed against. Entries and states hold it, so the garbage
// collector frees it when none needs it.
type template struct {
	body   atomic.Pointer[body]
	shared atomic.Pointer[parts]    // nil: nothing is cached yet
	labels atomic.Pointer[labeling] // nil: no record needs it yet
	front  atomic.Pointer[string]   // the labels of the object that it was made of; nil: no other object has needed them
	common common                   // of the object that it was made of

	// Only the writer uses these.
	group      uint64
	id         uint32 // in the table of the last state that had it
	usual      uint32 // usual bytes of a record
	dictionary bool   // it grows by what the objects of its shape share
	worse      uint8  // records in a row that were much larger
	useless    uint8  // records that the template made no smaller
	count      uint8  // records, modulo 256

	// The template of a controller's group has that of its shape until it is paired: until a record after the first uses it. The
	// template of a shape counts those groups, and the paired ones.
	shape           *template
	children, pairs uint32
}

const (
	minChildren = 32 // templates of groups from which a shape may be lonely
	fewPairs    = 8  // it is if one in so many is paired
)

// lonely reports whether hardly any group of the shape gets a second object.
func (t *template) lonely() bool { return t.children >= minChildren && t.pairs < t.children/fewPairs }

// pair notes that a record after the first uses the template of a group.
func (t *template) pair() {
	if t.shape != nil {
		t.shape.pairs++
		t.shape = nil
	}
}

// body holds the bytes of a template. With a parent they are packed against that parent.
type body struct {
	bytes  []byte
	parent *template
}

// nothing is the parent of templates that are packed against nothing.
var nothing = newTemplate(body{}, 0, new(digest))

func newTemplate(b body, group uint64, d *digest) *template {
	t := &template{group: group, common: d.common()}
	t.body.Store(&b)
	return t
}

// unpacked returns the unpacked bytes. They are read only: they may be those of the template.
func (t *template) unpacked() ([]byte, error) {
	b := t.body.Load()
	if b.parent == nil {
		return b.bytes, nil
	}
	return b.unpack(nil)
}

// unpack appends the unpacked bytes of a template that has a parent.
func (b *body) unpack(dst []byte) ([]byte, error) {
	return pack.Unpack(dst, b.parent.body.Load().bytes, nil, b.bytes) // a parent has no parent
}

// unpack appends the object of a record. t may be nil.
func (t *template) unpack(dst []byte, m *meta) ([]byte, error) {
	var room [128]byte
	known, object := m.appendIdentity(room[:0]), m.object
	if t == nil || !pack.UsesTemplate(object) {
		return pack.Unpack(dst, nil, known, object)
	}
	b := t.body.Load()
	if b.parent == nil {
		return pack.Unpack(dst, b.bytes, known, object)
	}
	err := borrow(func(scratch []byte) ([]byte, error) {
		plain, err := b.unpack(scratch) // b, not t.body: the writer may have replaced that
		if err == nil {
			dst, err = pack.Unpack(dst, plain, known, object)
		}
		return plain, err
	})
	return dst, err
}

// parts caches the parts of headers that many objects share: the ones read last.
type parts struct {
	annotations cached[map[string]string]
	owners      cached[[]object.Owner]
}

// cached has values by their digests, one in each place.
type cached[T any] []atomic.Pointer[part[T]]

// places is how many values of a part are cached for a template of many objects. A template of few
// objects has one place.
const places = 8

func newParts(n int) *parts {
	return &parts{make(cached[map[string]string], n), make(cached[[]object.Owner], n)}
}

// part is a header part and its digest.
type part[T any] struct {
	digest uint64
	value  T
}

// noParts serves objects without a template. It has no places.
var noParts parts

// parts returns the cache for the objects of t. t may be nil.
func (t *template) parts() *parts {
	if t == nil {
		return &noParts
	}
	if p := t.shared.Load(); p != nil {
		return p
	}
	n := places
	if t.body.Load().parent != nil {
		n = 1
	}
	t.shared.CompareAndSwap(nil, newParts(n))
	return t.shared.Load()
}

// get returns the value with this digest, if it is cached. A digest of 0 means an absent part.
func (c cached[T]) get(digest uint64) (value T, ok bool) {
	if digest == 0 {
		return value, true
	}
	if len(c) == 0 {
		return value, false
	}
	if p := c[digest%uint64(len(c))].Load(); p != nil && p.digest == digest {
		return p.value, true
	}
	return value, false
}

func (c cached[T]) put(digest uint64, value T) {
	if _, ok := c.get(digest); !ok && len(c) > 0 {
		c[digest%uint64(len(c))].Store(&part[T]{digest, value})
	}
}

// cache caches the parts of a header.
func (p *parts) cache(d *digest, h *object.Header) {
	p.annotations.put(d.Annotations, h.Annotations)
	p.owners.put(d.Owners, h.Owners)
}

// held is the memory of the template in bytes.
func (t *template) held() int64 {
	n := int64(unsafe.Sizeof(*t)+unsafe.Sizeof(body{})) + int64(cap(t.body.Load().bytes))
	if f := t.front.Load(); f != nil {
		n += int64(unsafe.Sizeof(*f)) + int64(len(*f))
	}
	if l := t.labels.Load(); l != nil && l.owner == t {
		n += int64(unsafe.Sizeof(*l)) + l.shape.Load().memory + int64(8*len(l.seen.table))
	}
	return n
}

// maxCachedBytes limits the memory in bytes of an indexCache, beyond its last template.
const maxCachedBytes = 1 << 20

// indexCache has the templates used last in the form that the packer needs: unpacked, with an index.
// With few of them, fifty owners in turn would rebuild an index for every second object.
type indexCache struct {
	of    map[*template]*list.Element
	order list.List // of *indexed; the one used last comes first
	bytes int
}

type indexed struct {
	of    *template
	is    *pack.Template
	bytes int
}

// get returns a template with an index.
func (c *indexCache) get(t *template) *pack.Template {
	if e := c.of[t]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*indexed).is
	}
	plain, err := t.unpacked()
	if err != nil {
		panic(err) // it was packed here
	}
	if c.of == nil {
		c.of = map[*template]*list.Element{}
	}
	x := &indexed{t, pack.NewTemplate(plain), len(plain) + pack.IndexSize(len(plain))}
	if t.dictionary {
		x.is = pack.NewDictionary(plain, maxDictionary)
		x.bytes = maxDictionary + pack.IndexSize(maxDictionary)
	}
	for c.bytes += x.bytes; c.bytes > maxCachedBytes && c.order.Len() > 0; {
		c.drop(c.order.Back().Value.(*indexed).of)
	}
	c.of[t] = c.order.PushFront(x)
	return x.is
}

// drop forgets a template.
func (c *indexCache) drop(t *template) {
	if e := c.of[t]; e != nil {
		c.bytes -= e.Value.(*indexed).bytes
		c.order.Remove(e)
		delete(c.of, t)
	}
}
