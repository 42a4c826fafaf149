package decode

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"

	"github.com/flyball-io/flyball/internal/protoscan"
)

var (
	errNoForm    = errors.New("decode: the type has no protobuf form")
	errMalformed = errors.New("decode: the protobuf message is damaged")
	errDeep      = errors.New("decode: the protobuf message is nested too deeply")
)

// protoDepth is the greatest nesting of messages.
const protoDepth = 10_000

// stockMessage is the interface of generated code.
type stockMessage interface{ Unmarshal([]byte) error }

// Protobuf decodes a message into the value that into points to, like the generated method
// Unmarshal of its type. It returns the errors of that method. into must point to a zero value.
// Nothing of b is kept.
//
// The field numbers are read from the protobuf tags of the Go type, once. A type with tags and no
// method of its own is decoded too; one with neither is an error. A message nested more than 10,000
// deep is an error too; the generated methods have no such bound.
//
// Unknown fields are skipped, as the generated methods do: the Go types of the API have no place
// for them. [Partial] reports whether there were any, and [RestoreProtobuf] puts them into an
// object that is sent back.
//
// Byte slices in the value may be written to, and appended to.
func Protobuf(b []byte, into any) error { return protobuf(b, into, false) }

// ProtobufOwned is [Protobuf] for bytes that have no other user. The value owns b from now on, also
// after an error, if b is larger than [SmallDocument]: long strings and bytes are cut from b.
//
// A string that is kept keeps at most 192 bytes alive, or eight times its own length.
func ProtobufOwned(b []byte, into any) error { return protobuf(b, into, true) }

func protobuf(b []byte, into any, owned bool) error {
	t, p := protoTables.find(into)
	if p == nil {
		return errNoForm
	}
	err := errNoForm
	if t != nil {
		if err = t.decode(b, p, owned); err == nil || err == errDeep {
			return err
		}
		reflect.ValueOf(into).Elem().SetZero()
	}
	if stock, ok := into.(stockMessage); ok {
		if err = stock.Unmarshal(b); err == nil {
			recordSlow(b, into, protoForm)
		}
	}
	return err
}

// protoTable is the table of a type and of its parts, with a pool of its decoders.
type protoTable struct {
	root     *message
	blocks   int
	decoders sync.Pool // of *proto
	partial  *partial
}

func (t *protoTable) decode(b []byte, into unsafe.Pointer, owned bool) error {
	d, _ := t.decoders.Get().(*proto)
	if d == nil {
		d = &proto{memory: memory{slabs: make([]slab, t.blocks)}}
	}
	d.begin(b, owned)
	ok, deep := d.message(t.root, 0, len(b), into), d.depth > protoDepth
	if ok && d.unknown {
		t.partial.record()
	}
	d.end()
	t.decoders.Put(d)
	switch {
	case ok:
		return nil
	case deep:
		return errDeep
	}
	return errMalformed
}

var protoTables = tables[protoTable]{make: func(t reflect.Type) *protoTable {
	c := protoCompiler{open: map[reflect.Type]*message{}, blocks: blocks{}}
	table := &protoTable{root: c.message(t), partial: partialOf(t)}
	if table.blocks = len(c.blocks); c.failed {
		return nil
	}
	return table
}}

// proto walks through a message. Its methods return false, or a negative offset, for damaged input,
// and for input left to the stock decoder.
type proto struct {
	src    []byte
	depth  int
	missed int // quantities that were not cached

	unknown bool // a field was found that its type does not have

	strings arena

	memory
}

func (d *proto) begin(b []byte, owned bool) {
	d.src, d.depth, d.unknown = b, 0, false
	d.strings.begin(len(b), owned)
}

func (d *proto) end() {
	d.src = nil
	d.strings.end()
	d.memory.end()
}

func (d *proto) bytes(from, to int) []byte {
	switch n := to - from; {
	case n == 0:
		return []byte{}
	case n >= d.strings.cut:
		return d.src[from:to:to]
	}
	own := d.strings.Keep(d.src[from:to]) // nobody else refers to it
	return unsafe.Slice(unsafe.StringData(own), len(own))
}

// number reads a varint and returns the offset after it.
func (d *proto) number(at, end int) (uint64, int) {
	if at < end && d.src[at] < 0x80 {
		return uint64(d.src[at]), at + 1
	}
	var n uint64
	for shift := 0; shift < 64 && at < end; shift += 7 {
		b := d.src[at]
		at++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, at
		}
	}
	return 0, -1
}

// span reads a length and returns the bounds of the bytes that follow.
func (d *proto) span(at, end int) (from, to int) {
	n, at := d.number(at, end)
	if at < 0 || n > uint64(end-at) {
		return 0, -1
	}
	return at, at + int(n)
}

// skip skips a field that the type does not have. Groups, which no server sends, are left to the stock decoder.
func (d *proto) skip(at, end int) int {
	d.unknown = true
	c := protoscan.Cursor{B: d.src[:end], I: at}
	if !c.Next() {
		return -1
	}
	return c.I
}

// run counts the successive strings or messages with the same tag. The tag of the first one has already been
// read.
func (d *proto) run(tag []byte, at, end int) int {
	for n := 1; ; n++ {
		if _, at = d.span(at, end); at < 0 {
			return -1
		}
		if at+len(tag) > end || d.src[at] != tag[0] || len(tag) > 1 && string(d.src[at:at+len(tag)]) != string(tag) {
			return n
		}
		at += len(tag)
	}
}

const (
	kindNumber = 0
	kindBytes  = 2
)
