package cow

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

// name is the thing that a number stands for: its order differs from that of the numbers.
func name(id uint32) uint32 { return bits.Reverse32(id) }

func byName(a, b uint32) int { return cmp.Compare(name(a), name(b)) }

func to(id uint32) Probe { return func(other uint32) int { return byName(other, id) } }

type version struct {
	tree  Tree
	table Table[uint32]
	ids   map[uint32]struct{}
}

func (v *version) set(o *Owner, id uint32) {
	v.tree.Insert(o, id, to(id))
	v.table.Set(o, id, id+1)
	v.ids[id] = struct{}{}
}

func (v *version) unset(t *rapid.T, o *Owner, id uint32) {
	_, had := v.ids[id]
	if v.tree.Delete(o, to(id)) != had {
		t.Fatalf("delete of %d: had it: %v", id, had)
	}
	v.table.Set(o, id, 0)
	delete(v.ids, id)
}

func (v *version) sorted() []uint32 { return slices.SortedFunc(maps.Keys(v.ids), byName) }

func (v *version) check(t *rapid.T) {
	want := v.sorted()
	if got := slices.Collect(v.tree.All()); !slices.Equal(got, want) || v.tree.Len() != len(want) {
		t.Fatalf("tree has %d: %v, want %v", v.tree.Len(), got, want)
	}
	for id := range v.ids {
		if at, ok := v.tree.Get(to(id)); !ok || at != id || v.table.Get(id) != id+1 {
			t.Fatalf("%d is %d, %v, %d", id, at, ok, v.table.Get(id))
		}
	}
	n := 0
	for id, item := range v.table.All() {
		if _, ok := v.ids[id]; !ok || item != id+1 {
			t.Fatalf("table has %d at %d", item, id)
		}
		n++
	}
	if n != len(want) {
		t.Fatalf("table has %d, want %d", n, len(want))
	}
}

func (v *version) walk(t *rapid.T, from uint32) {
	all := v.sorted()
	at, _ := slices.BinarySearchFunc(all, from, byName)
	var got []uint32
	i := v.tree.Iter()
	for ok := i.Seek(to(from)); ok; ok = i.Next() {
		got = append(got, i.ID())
	}
	if !slices.Equal(got, all[at:]) {
		t.Fatalf("from %d: %v, want %v", from, got, all[at:])
	}
}

// A version agrees with a plain map, whatever happens to others.
func TestVersionsAgreeWithAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := version{ids: map[uint32]struct{}{}}
		var kept []version
		owner := new(Owner)
		span := rapid.SampledFrom([]uint32{2, 20, 300, 20000}).Draw(t, "span")
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			id := rapid.Uint32Range(0, span).Draw(t, "id")
			switch rapid.IntRange(0, 5).Draw(t, "do") {
			case 0:
				now.set(owner, id)
			case 1:
				now.unset(t, owner, id)
			case 2: // many, in any order
				for k := id; k < min(id+500, span); k++ {
					now.set(owner, k)
				}
			case 3: // many, sorted
				for _, k := range slices.SortedFunc(maps.Keys(now.ids), byName) {
					now.unset(t, owner, k)
					now.set(owner, k)
				}
			case 4:
				for k := id; k < min(id+400, span); k++ {
					now.unset(t, owner, k)
				}
			case 5:
				kept = append(kept, version{now.tree, now.table, maps.Clone(now.ids)})
				owner = new(Owner)
			}
			now.walk(t, rapid.Uint32Range(0, span).Draw(t, "from"))
		}
		now.check(t)
		for _, v := range kept {
			v.check(t)
		}
	})
}

// Sorted input fills the nodes.
func TestSortedInputFillsNodes(t *testing.T) {
	var v version
	o := new(Owner)
	for i := range uint32(1 << 12) {
		v.tree.Insert(o, i, func(id uint32) int { return cmp.Compare(id, i) })
	}
	leaves := 0
	for n := []*node{v.tree.root}; len(n) > 0; n = n[1:] {
		if n[0].kids == nil {
			leaves++
		}
		n = append(n, n[0].kids...)
	}
	if most := (1<<12)/(maxNode-1) + 2; leaves > most {
		t.Errorf("%d leaves, want at most %d", leaves, most)
	}
}

func BenchmarkChange(b *testing.B) {
	var v version
	o := new(Owner)
	for i := range uint32(100_000) {
		v.table.Set(o, i, i+1)
	}
	b.ReportAllocs()
	for i := uint32(0); b.Loop(); i++ {
		v.table.Set(new(Owner), i*7919%100_000, i+1)
	}
}
