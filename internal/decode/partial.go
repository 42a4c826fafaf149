package decode

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// partial records that a document had fields that its type does not have.
type partial struct{ seen atomic.Bool }

func (p *partial) record() {
	if !p.seen.Load() {
		p.seen.Store(true)
	}
}

// partials has the types that were decoded.
var partials sync.Map // reflect.Type → *partial

func partialOf(t reflect.Type) *partial {
	p, _ := partials.LoadOrStore(t, new(partial))
	return p.(*partial)
}

// Partial reports whether any document decoded into values of the type had fields that the type
// does not have, at any depth. Such fields come from a newer server, or from a custom resource with
// a partial Go type. Values of any type, and types with a decoding method of their own, have no
// unknown fields.
func Partial(t reflect.Type) bool {
	p, ok := partials.Load(t)
	return ok && p.(*partial).seen.Load()
}

// recordSlow handles a document that the stock decoder has read: it looks for unknown fields, until
// one was found for the type.
func recordSlow(b []byte, into any, f form) {
	t := reflect.TypeOf(into)
	if t == nil || t.Kind() != reflect.Pointer {
		return
	}
	if t = t.Elem(); t.Kind() != reflect.Struct || Partial(t) {
		return
	}
	if doc, err := f.parse(b, f.outlines.of(t)); err != nil || doc.hasUnknown {
		partialOf(t).record()
	}
}
