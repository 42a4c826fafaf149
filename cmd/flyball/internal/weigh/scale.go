// Package weigh tells what the packed cache would take for the objects of a cluster, and what
// client-go's structs take for them.
//
//	                                                      ┌─► text, in columns
//	cluster ── pages ──► Scale, one for each kind ─► Report ─┤
//	                                                      └─► JSON
//
// A [Scale] gets the objects as they come off the wire and keeps them packed, by the code of the
// cache itself. When a kind is done its packed objects are dropped and the figures stay. So the
// memory is that of the largest kind, packed.
package weigh

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// Resource is a kind, and its name in URLs.
type Resource struct {
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// Figures are the weights of some objects. All but the numbers of objects are in bytes.
type Figures struct {
	// Objects is their number. Rejected is how many more there are, which cannot be read.
	Objects  int `json:"objects"`
	Rejected int `json:"rejected,omitempty"`
	// Wire is the length of the objects as the server sends them, before compression. ManagedFields
	// is the part of it that managedFields take.
	Wire          int64 `json:"wireBytes"`
	ManagedFields int64 `json:"managedFieldsBytes"`
	// Structs is an estimate of the Go structs that client-go holds for the objects. StructsCut is
	// that for objects without managedFields. Sampled is the number of objects that were decoded.
	Structs    int64 `json:"structsBytes"`
	StructsCut int64 `json:"structsWithoutManagedFieldsBytes"`
	Sampled    int   `json:"sampledObjects"`
	// Packed is what Flyball's cache holds for the objects, without managedFields, as it does by
	// default. PackedWhole is what it holds with KeepManagedFields.
	Packed      int64 `json:"packedBytes"`
	PackedWhole int64 `json:"packedWithManagedFieldsBytes"`
}

func (f *Figures) add(other Figures) {
	f.Objects += other.Objects
	f.Rejected += other.Rejected
	f.Wire += other.Wire
	f.ManagedFields += other.ManagedFields
	f.Structs += other.Structs
	f.StructsCut += other.StructsCut
	f.Sampled += other.Sampled
	f.Packed += other.Packed
	f.PackedWhole += other.PackedWhole
}

// Scale weighs the objects of one kind. It is for one goroutine.
type Scale struct {
	kind       *wire.Kind
	cut, whole *held
	sample     sample
	wire       int64
	managed    int64
	rejected   int
	problems   []error
	unnamed    int // problems that are not among these
}

// held is a store as the cache fills it with a first list.
type held struct {
	store *store.Store
	txn   *store.Txn
	buf   []byte // memory of the last object, for the next one
}

func newHeld(r Resource) *held {
	h := &held{}
	h.store = store.New(store.Options{
		Resource: r.GVR.GroupResource(), ClusterScoped: !r.Namespaced, Recycle: func(b []byte) { h.buf = b[:0] },
	})
	h.txn = h.store.Begin()
	h.txn.Replace()
	return h
}

// take returns the memory of the last object.
func (h *held) take() []byte {
	b := h.buf
	h.buf = nil
	return b
}

// end completes the list and returns the figures of the store.
func (h *held) end() store.Stats {
	h.txn.Sweep()
	h.txn.Commit()
	for h.store.Compact() {
	}
	return h.store.Stats()
}

// maxProblems is the number of problems of a kind that a Scale reports one by one.
const maxProblems = 3

// NewScale returns a Scale for the objects of r.
func NewScale(r Resource, kind *wire.Kind) *Scale {
	return &Scale{kind: kind, cut: newHeld(r), whole: newHeld(r)}
}

// Add weighs an object. The bytes are used until Add returns.
func (s *Scale) Add(raw wire.Raw) {
	whole := raw
	whole.Bytes = append(s.whole.take()[:0], raw.Bytes...)
	e, err := store.NewEntry(whole)
	if err != nil {
		s.Reject(err)
		return
	}
	raw = raw.Checked()
	cut := wire.CutManagedFields(s.cut.take(), raw)
	small, err := store.NewEntry(cut)
	if err != nil {
		s.Reject(err)
		return
	}
	s.wire += int64(len(raw.Bytes))
	s.managed += int64(len(raw.Bytes) - len(cut.Bytes))
	s.sample.offer(raw)
	s.whole.txn.Put(e)
	s.cut.txn.Put(small)
}

// Reject counts an object that cannot be read.
func (s *Scale) Reject(err error) {
	s.rejected++
	s.problem(err)
}

func (s *Scale) problem(err error) {
	if len(s.problems) == maxProblems {
		s.unnamed++
		return
	}
	s.problems = append(s.problems, err)
}

// Weighed returns the number of objects so far.
func (s *Scale) Weighed() int { return s.sample.seen }

// End returns the figures, and drops the objects. problems has an error for each of the first
// objects that cannot be read or decoded, and one for all that are not named.
func (s *Scale) End() (f Figures, problems []error) {
	cut, whole := s.cut.end(), s.whole.end()
	s.cut, s.whole = nil, nil
	f = Figures{
		Objects: cut.Objects, Wire: s.wire, ManagedFields: s.managed,
		Packed: cut.Held - cut.Dropped, PackedWhole: whole.Held - whole.Dropped,
	}
	if f.Objects == 0 {
		f.Packed, f.PackedWhole = 0, 0
	}
	structs := s.sample.structs(s.kind, s.problem)
	f.Sampled = structs.objects
	f.Structs = scaled(structs.whole, structs.wire, s.wire)
	f.StructsCut = scaled(structs.cut, structs.wireCut, s.wire-s.managed)
	f.Rejected = s.rejected
	if s.unnamed > 0 {
		s.problems = append(s.problems, fmt.Errorf("%d more objects of kind %s are like that", s.unnamed, s.kind.GVK.Kind))
	}
	return f, s.problems
}

// scaled returns what all bytes take if some of them take taken.
func scaled(taken, some, all int64) int64 {
	if some == 0 {
		return 0
	}
	return int64(float64(taken) * float64(all) / float64(some))
}

// keyOf returns the name of an object for errors.
func keyOf(raw wire.Raw) object.Key {
	h, _ := raw.Header()
	return h.Key
}
