package store

import (
	"sync"

	"github.com/flyball-io/flyball/internal/pack"
	"github.com/flyball-io/flyball/internal/wire"
)

// scratches is a pool of buffers for unpacking objects.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// maxPooledBuffer is the largest buffer in bytes that is kept.
const maxPooledBuffer = 1 << 20

// borrow calls f with a pooled buffer, which f owns until it returns. f returns the buffer, grown
// if need be.
func borrow(f func(scratch []byte) ([]byte, error)) error {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	b, err := f((*scratch)[:0])
	if cap(b) > maxPooledBuffer {
		b = nil
	}
	if b != nil {
		*scratch = b
	}
	return err
}

// Size is the length of the object as received; 0 for a rejected entry.
func (e *Entry) Size() int {
	if e.raw != nil || e.rejected != nil {
		return len(e.raw)
	}
	n, _ := pack.Size(e.meta().object) // a damaged record fails when it is read
	return n
}

// Read calls f with the object as received, and returns the error of f. The bytes are valid until f
// returns, and read only; no part of them may be kept. Read saves the allocation of [Entry.Raw].
// For a rejected entry it returns the cause.
func (e *Entry) Read(f func(wire.Raw) error) error {
	if e.rejected != nil {
		return e.rejected
	}
	m := e.meta()
	raw := wire.Raw{Kind: e.kind, Encoding: m.encoding(), Bytes: e.raw}.Checked()
	if e.raw != nil {
		return f(raw)
	}
	read := func(scratch []byte) ([]byte, error) {
		b, err := e.unpack(scratch, &m)
		if err != nil {
			return nil, err
		}
		raw.Bytes = b
		return b, f(raw)
	}
	if e.lent != nil {
		return e.lent.use(read)
	}
	return borrow(read)
}

// use is borrow with the memory of a loan.
func (l *loan) use(f func(scratch []byte) ([]byte, error)) error {
	scratch := l.scratch[:0]
	l.scratch = nil // f may call Read itself
	b, err := f(scratch)
	if cap(b) <= maxPooledBuffer {
		l.scratch = b
	}
	return err
}
