package decode

import (
	"reflect"
	"sync"
	"unsafe"

	"sigs.k8s.io/json"

	"github.com/flyball-io/flyball/internal/jsonscan"
)

// JSON decodes a document into the value that into points to, as apimachinery does. Names are case
// sensitive. Whole numbers stay whole in values of any type. Unknown fields are skipped, and so are
// nulls that the type cannot hold. into must point to a zero value. Nothing of b is kept.
//
// The errors are those of sigs.k8s.io/json.
func JSON(b []byte, into any) error { return decodeJSON(b, into, false) }

// JSONOwned is [JSON] for bytes that have no other user. The value owns b from now on, also after
// an error, if b is larger than [SmallDocument]: long strings are cut from b.
//
// A string that is kept keeps at most 192 bytes alive, or eight times its own length.
func JSONOwned(b []byte, into any) error { return decodeJSON(b, into, true) }

func decodeJSON(b []byte, into any, owned bool) error {
	if t, p := jsonTables.find(into); t != nil {
		if t.decode(b, p, owned) {
			return nil
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	err := json.UnmarshalCaseSensitivePreserveInts(b, into)
	if err == nil {
		recordSlow(b, into, jsonForm)
	}
	return err
}

// jsonTable is the plan of a type, with a pool of its readers.
type jsonTable struct {
	root    *plan
	blocks  blocks
	readers sync.Pool // of *reader
	partial *partial
}

// decode reads a document. It returns false if the fast path cannot handle it; into is then
// undefined.
func (t *jsonTable) decode(b []byte, into unsafe.Pointer, owned bool) bool {
	r, _ := t.readers.Get().(*reader)
	if r == nil {
		r = &reader{memory: memory{slabs: make([]slab, len(t.blocks))}, texts: t.blocks.block(stringType), words: t.blocks.block(wordType)}
	}
	r.src = b
	r.strings.begin(len(b), owned)
	at := r.value(t.root, jsonscan.Space(b, 0), into)
	ok := at >= 0 && jsonscan.Space(b, at) == len(b)
	if ok && r.unknown {
		t.partial.record()
	}
	r.end()
	t.readers.Put(r)
	return ok
}

var jsonTables = tables[jsonTable]{make: func(t reflect.Type) *jsonTable {
	c := compiler{open: map[reflect.Type]*plan{}, blocks: blocks{}}
	c.blocks.block(stringType)
	c.blocks.block(wordType)
	table := &jsonTable{root: c.plan(t), blocks: c.blocks, partial: partialOf(t)}
	if c.failed {
		return nil
	}
	return table
}}

// reader walks through a document. Its methods read the value at an offset into a zero value of
// their type, and return the offset after it. They return -1 for malformed input, and for input
// left to the stock decoder.
type reader struct {
	src     []byte
	depth   int
	sorted  bool // members come in the order of their names, not of the fields
	missed  int  // quantities that were not cached
	unknown bool // a field was found that its type does not have
	strings arena
	memory
	texts, words *block // blocks that values of any type point to

	// Stacks of the parts of open maps and lists.
	pairs   []string
	members []member
	items   []any
}

// end drops all references to the object.
func (r *reader) end() {
	r.src, r.depth, r.unknown = nil, 0, false
	r.strings.end()
	clear(r.pairs)
	clear(r.members)
	clear(r.items)
	r.pairs, r.members, r.items = r.pairs[:0], r.members[:0], r.items[:0]
	r.memory.end()
}
