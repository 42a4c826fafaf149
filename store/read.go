package store

import (
	"sync"

	"github.com/flyball-io/flyball/pack"
	"github.com/flyball-io/flyball/wire"
)

// scratches are bytes that objects are unpacked into for a moment.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// mostPooled is the size up to which they are kept.
const mostPooled = 1 << 20

// borrow calls f with memory that is its own until it returns; f returns it, grown if need be.
func borrow(f func(scratch []byte) ([]byte, error)) error {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	b, err := f((*scratch)[:0])
	if cap(b) > mostPooled {
		b = nil
	}
	if b != nil {
		*scratch = b
	}
	return err
}

// Size is the length of the object as it came over the wire; 0 for an entry that was set aside.
func (e *Entry) Size() int {
	if e.raw != nil || e.aside != nil {
		return len(e.raw)
	}
	n, _ := pack.Size(e.record.meta().object) // one that is damaged says so when it is read
	return n
}

// Read calls f with the object as it came over the wire, and returns what f does. The bytes are good
// until f returns, and read only; nothing of them may be kept. It saves the memory that [Entry.Raw]
// makes with each call. It fails for an entry that was set aside, with the cause.
func (e *Entry) Read(f func(wire.Raw) error) error {
	if e.aside != nil {
		return e.aside
	}
	m := e.record.meta()
	raw := wire.Raw{Kind: e.kind, Encoding: m.encoding(), Bytes: e.raw}.Checked()
	if e.raw != nil {
		return f(raw)
	}
	read := func(scratch []byte) ([]byte, error) {
		b, err := e.unpack(scratch, m.object)
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

// use is borrow of the memory of a loan.
func (l *loan) use(f func(scratch []byte) ([]byte, error)) error {
	scratch := l.scratch[:0]
	l.scratch = nil // f may ask once more
	b, err := f(scratch)
	if cap(b) <= mostPooled {
		l.scratch = b
	}
	return err
}
