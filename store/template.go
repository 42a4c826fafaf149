package store

import (
	"sync/atomic"
	"unsafe"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/pack"
)

// template is an object that others are packed against. Entries and states hold it, so it lives as
// long as anyone can need it.
type template struct {
	body   atomic.Pointer[body]
	shared parts

	// The writer's.
	group uint64
	id    uint32 // in the table of the state that had it last
}

// body are the bytes of a template: packed themselves, against a template of templates, if there
// is a parent.
type body struct {
	bytes  []byte
	size   int // unpacked
	parent *template
}

func newTemplate(b body, group uint64) *template {
	t := &template{group: group}
	t.body.Store(&b)
	return t
}

// plain are the bytes: those that it holds, which nobody may write to, or new ones.
func (t *template) plain() ([]byte, error) {
	b := t.body.Load()
	if b.parent == nil {
		return b.bytes, nil
	}
	return b.unpack(make([]byte, 0, b.size))
}

// unpack appends the bytes of a template that has a parent.
func (b *body) unpack(dst []byte) ([]byte, error) {
	return pack.Unpack(dst, b.parent.body.Load().bytes, b.bytes) // a parent has none itself
}

// unpack appends the object of a record, which may have no template.
func (t *template) unpack(dst, object []byte) ([]byte, error) {
	if t == nil || !pack.UsesTemplate(object) {
		return pack.Unpack(dst, nil, object)
	}
	b := t.body.Load()
	if b.parent == nil {
		return pack.Unpack(dst, b.bytes, object)
	}
	err := borrow(func(scratch []byte) ([]byte, error) {
		plain, err := b.unpack(scratch) // not of what the writer may have put in the place of b
		if err == nil {
			dst, err = pack.Unpack(dst, plain, object)
		}
		return plain, err
	})
	return dst, err
}

// parts are the parts of headers that many objects of one template share: those seen last.
type parts struct {
	labels, annotations atomic.Pointer[part[map[string]string]]
	owners              atomic.Pointer[part[[]object.Owner]]
}

// part is one of them, and the digest that it has.
type part[T any] struct {
	digest uint64
	value  T
}

// noParts are those of no template: nobody has learned them.
var noParts parts

func (t *template) parts() *parts {
	if t == nil {
		return &noParts
	}
	return &t.shared
}

// known is the part with this digest, if it is the one seen last. One without a digest is absent.
func known[T any](p *atomic.Pointer[part[T]], digest uint64) (value T, ok bool) {
	if digest == 0 {
		return value, true
	}
	if last := p.Load(); last != nil && last.digest == digest {
		return last.value, true
	}
	return value, false
}

// learn keeps the parts of a header, but for those that it has.
func (p *parts) learn(d *digest, h *object.Header) {
	if p == &noParts {
		return
	}
	if _, ok := known(&p.labels, d.Labels); !ok {
		p.labels.Store(&part[map[string]string]{d.Labels, h.Labels})
	}
	if _, ok := known(&p.annotations, d.Annotations); !ok {
		p.annotations.Store(&part[map[string]string]{d.Annotations, h.Annotations})
	}
	if _, ok := known(&p.owners, d.Owners); !ok {
		p.owners.Store(&part[[]object.Owner]{d.Owners, h.Owners})
	}
}

// held are the bytes of memory that it takes.
func (t *template) held() int64 {
	return int64(unsafe.Sizeof(*t)+unsafe.Sizeof(body{})) + int64(cap(t.body.Load().bytes))
}
