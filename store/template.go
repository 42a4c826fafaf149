package store

import (
	"sync/atomic"
	"unsafe"

	"github.com/flyball-io/flyball/pack"
)

// template is an object that others are packed against. Entries and states hold it, so it lives as
// long as anyone can need it.
type template struct {
	body   atomic.Pointer[body]
	shared atomic.Pointer[parts]

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

// plain are the bytes: those that it holds, or appended to scratch.
func (t *template) plain(scratch []byte) ([]byte, error) {
	b := t.body.Load()
	if b.parent == nil {
		return b.bytes, nil
	}
	return pack.Unpack(scratch, b.parent.body.Load().bytes, b.bytes) // a parent has none itself
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
		plain, err := t.plain(scratch)
		if err == nil {
			dst, err = pack.Unpack(dst, plain, object)
		}
		return plain, err
	})
	return dst, err
}

// known are the parts of a header with this digest, if the template has seen them.
func (t *template) known(d *digest) *parts {
	if t == nil {
		return nil
	}
	if p := t.shared.Load(); p != nil && p.is(d) {
		return p
	}
	return nil
}

func (t *template) learn(p *parts) {
	if t != nil {
		t.shared.Store(p)
	}
}

// held are the bytes of memory that it takes.
func (t *template) held() int64 {
	return int64(unsafe.Sizeof(*t)+unsafe.Sizeof(body{})) + int64(cap(t.body.Load().bytes))
}
