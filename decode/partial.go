package decode

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// partial notes that a document had fields that its type does not have.
type partial struct{ seen atomic.Bool }

func (p *partial) note() {
	if !p.seen.Load() {
		p.seen.Store(true)
	}
}

// partials has the types that the tables do not know and the stock decoders read.
var partials sync.Map // reflect.Type → *partial

// Partial reports whether any document that was decoded into values of the type so far had fields
// that the type does not have, at any depth: of a newer server, or of a custom resource of which the
// type shows a part. What is held in values of any type, or read by a type's own method, counts as
// known.
func Partial(t reflect.Type) bool {
	if table, ok := jsonTables.all.Load(t); ok {
		if table := table.(*jsonTable); table != nil && table.partial.seen.Load() {
			return true
		}
	}
	if table, ok := protoTables.all.Load(t); ok {
		if table := table.(*protoTable); table != nil && table.partial.seen.Load() {
			return true
		}
	}
	p, ok := partials.Load(t)
	return ok && p.(*partial).seen.Load()
}

// noteSlow is for a document that the stock decoder has read into a value: it looks for unknown
// fields once more, until there was one.
func noteSlow(b []byte, into any, f form) {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer {
		return
	}
	if t = t.Elem(); t.Kind() != reflect.Struct || Partial(t) {
		return
	}
	if doc, err := f.parse(b, f.outlines.of(t)); err != nil || doc.more {
		p, _ := partials.LoadOrStore(t, new(partial))
		p.(*partial).note()
	}
}
