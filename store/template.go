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
	shared parts
	digest digest // of the object that it was made of

	// Only the writer uses these.
	group uint64
	id    uint32 // in the table of the last state that had it
}

// body holds the bytes of a template. With a parent they are packed against that parent.
type body struct {
	bytes  []byte
	size   int // unpacked
	parent *template
}

func newTemplate(b body, group uint64, d *digest) *template {
	t := &template{group: group, digest: *d}
	t.body.Store(&b)
	return t
}

// unpacked returns the unpacked bytes. They are read only: they may be those of the template.
func (t *template) unpacked() ([]byte, error) {
	b := t.body.Load()
	if b.parent == nil {
		return b.bytes, nil
	}
	return b.unpack(make([]byte, 0, b.size))
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

// parts caches the parts of headers that many objects of one template share: the ones seen last.
type parts struct {
	labels, annotations atomic.Pointer[part[map[string]string]]
	owners              atomic.Pointer[part[[]object.Owner]]
}

// part is a header part and its digest.
type part[T any] struct {
	digest uint64
	value  T
}

// noParts serves objects without a template. It stays empty.
var noParts parts

func (t *template) parts() *parts {
	if t == nil {
		return &noParts
	}
	return &t.shared
}

// cachedPart returns the cached part if it has this digest. A digest of 0 means an absent part.
func cachedPart[T any](p *atomic.Pointer[part[T]], digest uint64) (value T, ok bool) {
	if digest == 0 {
		return value, true
	}
	if last := p.Load(); last != nil && last.digest == digest {
		return last.value, true
	}
	return value, false
}

// cache caches the parts of a header that are not cached yet.
func (p *parts) cache(d *digest, h *object.Header) {
	if p == &noParts {
		return
	}
	if _, ok := cachedPart(&p.labels, d.Labels); !ok {
		p.labels.Store(&part[map[string]string]{d.Labels, h.Labels})
	}
	if _, ok := cachedPart(&p.annotations, d.Annotations); !ok {
		p.annotations.Store(&part[map[string]string]{d.Annotations, h.Annotations})
	}
	if _, ok := cachedPart(&p.owners, d.Owners); !ok {
		p.owners.Store(&part[[]object.Owner]{d.Owners, h.Owners})
	}
}

// held is the memory of the template in bytes.
func (t *template) held() int64 {
	return int64(unsafe.Sizeof(*t)+unsafe.Sizeof(body{})) + int64(cap(t.body.Load().bytes))
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
