package decode

import (
	"reflect"
	"sync"
	"unsafe"

	"sigs.k8s.io/json"
)

// JSON decodes a document into the value that into points to, as apimachinery does: names are
// matched by case, whole numbers stay whole in values of any type, fields that the type does not
// have are passed over, and so are nulls that it cannot hold. into must point to a zero value.
// Nothing of b is kept.
//
// The errors are those of sigs.k8s.io/json.
func JSON(b []byte, into any) error { return decodeJSON(b, into, false) }

// JSONOwned is [JSON] for bytes that nobody else uses: they belong to the value from now on, also
// if there is an error, and its strings are cut from them.
//
// What is kept of the value keeps at most 16 KiB of b alive, or eight times its own length.
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
		noteSlow(b, into, jsonForm)
	}
	return err
}

// jsonTable is the plan of a type, and the readers that have read by it.
type jsonTable struct {
	root    *plan
	blocks  blocks
	readers sync.Pool // of *reader
	partial partial
}

// decode reads a document. False: it is not one for the fast way, and into holds anything.
func (t *jsonTable) decode(b []byte, into unsafe.Pointer, owned bool) bool {
	r, _ := t.readers.Get().(*reader)
	if r == nil {
		r = &reader{memory: memory{slabs: make([]slab, len(t.blocks))}, texts: t.blocks.block(stringType), words: t.blocks.block(wordType)}
	}
	r.src = b
	r.strings = arena{left: len(b), cut: shortest(len(b), owned)}
	at := r.value(t.root, space(b, 0), into)
	ok := at >= 0 && space(b, at) == len(b)
	if ok && r.unknown {
		t.partial.note()
	}
	r.end()
	t.readers.Put(r)
	return ok
}

var (
	stringType = reflect.TypeFor[string]()
	wordType   = reflect.TypeFor[uint64]()
)

var jsonTables = tables[jsonTable]{make: func(t reflect.Type) *jsonTable {
	c := compiler{open: map[reflect.Type]*plan{}, blocks: blocks{}}
	c.blocks.block(stringType)
	c.blocks.block(wordType)
	table := &jsonTable{root: c.plan(t), blocks: c.blocks}
	if c.failed {
		return nil
	}
	return table
}}

// reader goes through a document. Its methods read the value that begins at an offset into a zero
// value of their type, and return the offset after it, or -1 for what is not well-formed and for
// what the fast way leaves to the stock decoder.
type reader struct {
	src     []byte
	depth   int
	sorted  bool // members come in the order of their names, not of the fields
	missed  int  // quantities
	unknown bool // there was a field that its type does not have
	strings arena
	memory
	texts, words *block // what values of any type point to

	// What was read of the maps and lists that are open, one after the other.
	pairs   []string
	members []member
	items   []any
}

// maxDepth is how deep values are read; the stock decoder goes to 10,000.
const maxDepth = 200

// end forgets the object.
func (r *reader) end() {
	r.src, r.strings, r.depth, r.unknown = nil, arena{}, 0, false
	clear(r.pairs)
	clear(r.members)
	clear(r.items)
	r.pairs, r.members, r.items = r.pairs[:0], r.members[:0], r.items[:0]
	r.memory.end()
}
