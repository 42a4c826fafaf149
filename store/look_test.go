package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

func TestLookLendsTheEntry(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "[", "+a/x u1@7 app=web", "+a/z u3@8 !", "]")
	x := object.Key{Namespace: "a", Name: "x"}
	version := 9
	replace := func() { // frees the record and reuses its memory
		for range 200 {
			commit(s, fmt.Sprintf("+a/x u1@%d app=db", version))
			version++
		}
		for s.Compact() {
		}
		runtime.GC()
	}
	var kept *Entry
	var header *object.Header
	var raw []byte
	if !s.Look(x, func(e *Entry) {
		if e.Key() != x || e.Err() != nil || e.UID() != "u1" || e.Labels()["app"] != "web" {
			t.Errorf("lent %s of %s", id(e), e.Key())
		}
		raw = bytes.Clone(e.Compact().Raw().Bytes)
		replace()
		if err := e.Read(func(r wire.Raw) error {
			return e.Read(func(inner wire.Raw) error { // each call has memory of its own
				if !bytes.Equal(inner.Bytes, raw) || !bytes.Equal(r.Bytes, raw) {
					t.Errorf("read %q within %q", inner.Bytes, r.Bytes)
				}
				return nil
			})
		}); err != nil {
			t.Error(err)
		}
		kept, header = e.Compact(), e.Header()
	}) {
		t.Fatal("not found")
	}
	replace()
	if header.Key != x || header.UID != "u1" || header.ResourceVersion != "7" || header.Labels["app"] != "web" {
		t.Errorf("the header has become %+v", header)
	}
	if id(kept) != "u1@7" || kept.Key() != x || !bytes.Equal(kept.Raw().Bytes, raw) || kept.Header().Labels["app"] != "web" {
		t.Errorf("what was kept has become %s, %q", id(kept), kept.Raw().Bytes)
	}

	var cause error
	if !s.Look(object.Key{Namespace: "a", Name: "z"}, func(e *Entry) { cause = e.Err() }) || cause != errTest {
		t.Errorf("rejected: %v", cause)
	}
	if s.Look(object.Key{Namespace: "a", Name: "y"}, func(e *Entry) { t.Errorf("lent %s", id(e)) }) {
		t.Error("found nothing")
	}

	nodes := New(Checked(Options{ClusterScoped: true}))
	commit(nodes, "+node u1@1")
	if !nodes.Look(object.Key{Namespace: "any", Name: "node"}, func(e *Entry) {
		if e.Key() != (object.Key{Name: "node"}) {
			t.Errorf("its key is %s", e.Key())
		}
	}) {
		t.Error("the namespace of the key of a cluster-scoped object counts")
	}
}

// A Query with Match selects the entries of the same Query without it that satisfy Match.
func TestMatchFiltersASelection(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", ByLabel("app"))
	txn := s.Begin()
	for i := range 1000 {
		suffix := ""
		if i%97 == 0 {
			suffix = " !"
		}
		txn.Put(at(fmt.Sprintf("n%d/p%04d u%d@%d app=%d tier=%d%s", i%3, i, i, i+1, i%7, i%11, suffix)))
	}
	txn.Commit()
	snap := s.Snapshot()
	for _, q := range []Query{
		{}, {Namespace: "n1"}, {Where: Is("app", "3")}, {Namespace: "n2", Where: Or(Is("app", "1"), Is("app", "2"))},
		{After: object.Key{Namespace: "n1", Name: "p0500"}}, {Namespace: "n1", After: object.Key{Namespace: "n1", Name: "p0500"}},
	} {
		for name, match := range map[string]func(*Entry) bool{
			"none":     func(*Entry) bool { return false },
			"all":      func(*Entry) bool { return true },
			"few":      func(e *Entry) bool { return e.Labels()["tier"] == "4" && e.Header().Labels["app"] == "3" },
			"name":     func(e *Entry) bool { return e.Key().Name > "p0800" },
			"rejected": func(e *Entry) bool { return e.Err() != nil },
		} {
			var want []string
			every, err := snap.Select(q)
			if err != nil {
				t.Fatal(err)
			}
			for e := range every {
				if match(e) {
					want = append(want, e.Key().String()+" "+id(e))
				}
			}
			q := q
			q.Match = match
			some, err := snap.Select(q)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a sequence can be read twice
				var got []string
				for e := range some {
					got = append(got, e.Key().String()+" "+id(e))
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s of %+v: %v, want %v", name, q, got, want)
				}
			}
			for range some {
				break
			}
		}
	}
}

// A lent entry stays unchanged until Match returns.
func TestLentEntryStaysUnchangedDuringMatch(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "+x u1@1 app=web", "+y u2@2 app=web")
	seq, err := s.Snapshot().Select(Query{Match: func(e *Entry) bool {
		want := string(e.Raw().Bytes)
		for i := range 200 {
			commit(s, fmt.Sprintf("+%s %s@%d app=db", e.Key(), e.UID(), i+3))
		}
		for s.Compact() {
		}
		runtime.GC()
		if got := string(e.Raw().Bytes); got != want || e.Labels()["app"] != "web" {
			t.Errorf("%q has become %q", want, got)
		}
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(seq); got != "x y" {
		t.Error(got)
	}
}

// Whatever the hash table says, a key is found exactly where it is.
func TestKeysAreFoundWhateverTheHashTableSays(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	s := New(Checked(Options{}))
	there := map[string]int{}
	for version := range short(600, 3000) {
		name := fmt.Sprint("p", r.IntN(400))
		if r.IntN(3) == 0 {
			commit(s, "x"+name)
			delete(there, name)
		} else {
			commit(s, fmt.Sprintf("+%s u@%d", name, version+1))
			there[name] = version + 1
		}
		if version%500 == 0 {
			commit(s, "[", "]") // slots are given out in a new order
			clear(there)
		}
		old := s.Snapshot()
		name = fmt.Sprint("p", r.IntN(400))
		commit(s, "+other u@1", "xother")
		for _, snap := range []*Snapshot{old, s.Snapshot()} {
			e, ok := snap.Lookup(object.Key{Name: name})
			if want, is := there[name]; is != ok || ok && e.ResourceVersion() != fmt.Sprint(want) {
				t.Fatalf("%s: %v %s, want %v %d", name, ok, id(e), is, want)
			}
		}
	}

	g := newSlotTable()
	always := func(uint32) bool { return true }
	if _, ok := g.find(1, always); ok {
		t.Error("empty guesses guess")
	}
	g.put(1, 1<<slotBits-1, 10) // not stored
	if slot, ok := g.find(1, always); ok {
		t.Errorf("a slot of more bits than there are is guessed as %d", slot)
	}
	g.put(1, 1<<slotBits-2, 10)
	if slot, ok := g.find(1, always); !ok || slot != 1<<slotBits-2 {
		t.Errorf("the last slot is guessed as %d, %v", slot, ok)
	}
	const n = 10_000
	hashes := make([]uint64, n)
	for i := range hashes {
		hashes[i] = r.Uint64()
		g.put(hashes[i], uint32(i), n)
	}
	known := 0
	for i, hash := range hashes {
		if _, ok := g.find(hash, func(slot uint32) bool { return slot == uint32(i) }); ok {
			known++
		}
	}
	if known < n*99/100 {
		t.Errorf("%d of %d keys are known", known, n)
	}
	if size := len(*g.buckets.Load()) * bucketSize; size < n || size > 3*n {
		t.Errorf("room for %d entries of %d keys", size, n)
	}
	if g.fit(n / 2); g.buckets.Load() == nil {
		t.Error("half of the keys were deleted, and the table was dropped")
	}
	if g.fit(n / 100); g.buckets.Load() != nil {
		t.Error("most keys were deleted, and the table was not dropped")
	}
}

// A selection that lends its entries shows what one that copies them shows, whatever the loop does meanwhile: selections
// within it, changes of the store, an early end.
func TestSelectLendsEntries(t *testing.T) {
	for seed := range uint64(short(1, 3)) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := New(Checked(Options{}))
		version := 1
		change := func() {
			var ops []string
			for range 1 + random.IntN(20) {
				op := fmt.Sprintf("+%c/o%02d u@%d app=v%d", 'a'+random.IntN(2), random.IntN(60), version, random.IntN(4))
				if random.IntN(6) == 0 {
					op += " !"
				}
				ops = append(ops, op)
				version++
			}
			commit(s, ops...)
		}
		for range 20 {
			change()
		}
		q := Query{Namespace: []string{"", "a"}[random.IntN(2)]}
		list := func(snap *Snapshot, lent bool, each func()) (found []string) {
			q.Lent = lent
			for e := range snap.scan(q) {
				before := allOf(e)
				each()
				if now := allOf(e); now != before {
					t.Fatalf("seed %d: %s has become %s", seed, before, now)
				}
				found = append(found, before)
			}
			return found
		}
		nothing := func() {}
		for range 5 {
			snap := s.Snapshot()
			want := list(snap, false, nothing)
			got := list(snap, true, func() {
				if random.IntN(4) > 0 {
					return
				}
				for range snap.scan(Query{Lent: true}) {
					if random.IntN(10) == 0 {
						break
					}
				}
				change()
				for s.Compact() {
				}
				runtime.GC()
			})
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: lent %v, want %v", seed, got, want)
			}
		}
	}
}

// allOf is all that an entry shows.
func allOf(e *Entry) string {
	text := fmt.Sprint(e.Key(), id(e), e.Labels(), e.Err())
	_ = e.Read(func(raw wire.Raw) error {
		text += string(raw.Bytes)
		return nil
	})
	return text
}
