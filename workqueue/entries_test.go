package workqueue

import (
	"math/rand/v2"
	"testing"
)

// Entries against a map. Many hashes are equal, so that slots of released entries lie between used
// ones.
func TestEntriesAgreeWithAMap(t *testing.T) {
	steps := 200_000
	if testing.Short() {
		steps = 20_000
	}
	for _, hashes := range []uint32{1, 7, 1 << 10, 1 << 31} {
		var x entries[int, struct{}]
		x.init()
		x.limits = limits{keep: 64}
		model := map[int]number{}
		rnd := rand.New(rand.NewPCG(1, uint64(hashes)))
		hash := func(key int) uint32 { return uint32(key) * 2654435761 % hashes * (1 << 13) }
		keys := 40
		for i := range steps {
			if i%1000 == 0 {
				keys = 1 + rnd.IntN(500) // from nearly empty to full
			}
			key := rnd.IntN(500)
			n := x.find(key, hash(key))
			if n != model[key] {
				t.Fatalf("hashes %d, step %d: found %d, want %d", hashes, i, n, model[key])
			}
			switch {
			case n == 0 && key < keys:
				if n = x.insert(key, hash(key)); n == 0 || *x.cell(n) != (cell[int, struct{}]{key: key}) {
					t.Fatalf("hashes %d, step %d: entry %d is %+v", hashes, i, n, *x.cell(n))
				}
				model[key] = n
			case n != 0 && (key >= keys || rnd.IntN(3) == 0):
				x.release(n)
				delete(model, key)
			}
			if x.used != len(model) {
				t.Fatalf("hashes %d, step %d: %d used, want %d", hashes, i, x.used, len(model))
			}
		}
	}
}

// A key that is inserted and released again and again reuses its slot, while other keys are
// inserted and stay.
func TestReinsertedKeyReusesItsSlot(t *testing.T) {
	var x entries[int, struct{}]
	x.init()
	const hot, hash = -1, 0x1234_5678
	for key := range 10_000 {
		x.release(x.insert(hot, hash))
		x.insert(key, x.hash(key)) // takes the number of hot
	}
	for range 10_000 {
		x.release(x.insert(hot, hash)) // gets the same number every time
	}
	x.insert(hot, hash)
	slots := 0
	for i := range x.table.groups {
		for _, tags := range x.table.groups[i].tags {
			for shift := 0; shift < 64; shift += 16 {
				if tags>>shift&0xffff == tagOf(hash)&0xffff {
					slots++
				}
			}
		}
	}
	if slots > 8 { // a few other keys may have the same tag
		t.Errorf("%d slots", slots)
	}
}

// A table that grows loses no entry, even if hashes collide.
func TestGrowthKeepsEveryEntry(t *testing.T) {
	for name, hash := range map[string]func(key int) uint32{
		"spread":           func(key int) uint32 { return uint32(key) * 2654435761 },
		"a few groups":     func(key int) uint32 { return uint32(key) * 2654435761 &^ 0x0ff0 },
		"the last groups":  func(key int) uint32 { return uint32(key)*2654435761 | 0xffff },
		"the lowest alone": func(key int) uint32 { return uint32(key) },
	} {
		var x entries[int, struct{}]
		x.init()
		numbers := map[int]number{}
		for key := range 3000 {
			size := len(x.table.groups)
			numbers[key] = x.insert(key, hash(key))
			if len(x.table.groups) == size && key != 2999 {
				continue
			}
			for key, n := range numbers {
				if found := x.find(key, hash(key)); found != n {
					t.Fatalf("%s: of %d keys, %d is found at %d, want %d", name, len(numbers), key, found, n)
				}
			}
		}
		if x.table.unfilled != 7*len(x.table.groups)-3000 {
			t.Errorf("%s: %d slots left in %d groups", name, x.table.unfilled, len(x.table.groups))
		}
	}
}
