package store

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// long returns n, or all with FLYBALL_LONG.
func long(n, all int) int {
	if os.Getenv("FLYBALL_LONG") != "" {
		return all
	}
	return n
}

// short returns n with -short, and all without: with the race detector a test takes many times as long.
func short(n, all int) int {
	if testing.Short() {
		return n
	}
	return all
}

// maker makes objects that resemble others of their owner; a few resemble no other. Those of every
// seventh owner resemble others in long words only, which come and go.
type maker struct {
	r       *rand.Rand
	version int
	words   []string         // that are in use at this time
	has     map[int][]string // the words of an object, by its number
}

// wordsOf returns the words of an object: a long one of its own, and some that others have, too.
func (m *maker) wordsOf(key int) []string {
	if m.has == nil {
		m.has, m.words = map[int][]string{}, make([]string, 4)
	}
	i := m.r.IntN(len(m.words))
	if m.words[i] == "" || m.r.IntN(6) == 0 {
		m.words[i] = randomWord(m.r, 40+m.r.IntN(260))
	}
	has := m.has[key]
	if has == nil {
		has = append(has, randomWord(m.r, 1000))
	}
	has = append(has, m.words[i])
	if len(has) > 4 {
		has = slices.Delete(has, 1, 2)
	}
	m.has[key] = has
	return has
}

func (m *maker) object(key int) (object.Key, []byte) {
	m.version++
	owner := key % 37
	k := object.Key{Namespace: fmt.Sprintf("ns-%d", owner%5), Name: fmt.Sprintf("thing-%d-%05d", owner, key)}
	alone, label := owner%7 == 0, owner
	if alone {
		label = key
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"Thing","metadata":{"namespace":%q,"name":%q,"uid":"0b54e1f7-1111-4000-8000-%012d","resourceVersion":"%d","labels":{"app":"a%d"}`,
		k.Namespace, k.Name, key, m.version, label)
	if owner%3 != 0 && !alone {
		fmt.Fprintf(&b, `,"ownerReferences":[{"apiVersion":"v1","kind":"Set","name":"s%d","uid":"u%d","controller":true}]`, owner, owner)
	}
	fmt.Fprintf(&b, `},"spec":{"node":"n%d","image":"registry.example.org/shop/app-%d@sha256:%016x","args":[`, m.r.IntN(9), owner, m.r.Uint64())
	for i := range owner % 11 {
		fmt.Fprintf(&b, `"--flag-%d=%d",`, i, i*owner)
	}
	b.WriteString(`""]`)
	if alone {
		fmt.Fprintf(&b, `,"words":["%s"]`, strings.Join(m.wordsOf(key), `","`))
	}
	if m.r.IntN(50) == 0 { // resembles no other
		b.WriteString(`,"data":"`)
		for range m.r.IntN(4000) {
			b.WriteByte(byte('a' + m.r.IntN(26)))
		}
		b.WriteString(`"`)
	}
	b.WriteString("}}")
	return k, b.Bytes()
}

func (m *maker) entry(t testing.TB, raw []byte) *Entry {
	e, err := NewEntry(wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: bytes.Clone(raw)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A store agrees with a plain map after any operations, and so does every held snapshot. With
// FLYBALL_LONG: ten million operations.
func TestStoreAgreesWithAMap(t *testing.T) {
	const keys = 3000
	ops := long(short(8_000, 15_000), 10_000_000)
	m := &maker{r: rand.New(rand.NewPCG(1, uint64(ops)))}
	s := New(Options{Recycle: func(b []byte) { clear(b) }})
	mustIndex(t, s, "app", ByLabel("app"))
	model := map[object.Key][]byte{}
	type kept struct {
		snap  *Snapshot
		model map[object.Key][]byte
	}
	var snaps []kept
	check := func(snap *Snapshot, model map[object.Key][]byte) {
		n := 0
		for e := range snap.All() {
			n++
			if want := model[e.Key()]; !bytes.Equal(e.Raw().Bytes, want) {
				t.Fatalf("%s:\n%s, want\n%s", e.Key(), e.Raw().Bytes, want)
			}
		}
		if n != len(model) || snap.Len() != n {
			t.Fatalf("%d objects, want %d", n, len(model))
		}
	}
	rebuilt := 0
	for done := 0; done < ops; {
		txn := s.Begin()
		next := model
		relist := m.r.IntN(400) == 0
		if relist {
			txn.Replace()
			next = map[object.Key][]byte{}
		}
		n := 1 + m.r.IntN(8)
		if relist {
			n = m.r.IntN(keys)
		}
		undo := map[object.Key][]byte{}
		for range n {
			done++
			i := m.r.IntN(keys)
			key, raw := m.object(i)
			if _, ok := undo[key]; !ok && !relist {
				undo[key] = model[key]
			}
			if was := model[key]; relist && was != nil && m.r.IntN(2) == 0 {
				raw = was // unchanged
			} else if !relist && m.r.IntN(3) == 0 {
				txn.Delete(key, nil)
				delete(next, key)
				continue
			}
			if old, ok := next[key]; relist && ok {
				raw = old
			}
			txn.Put(m.entry(t, raw))
			next[key] = raw
		}
		if m.r.IntN(20) == 0 {
			txn.Discard()
			for key, raw := range undo {
				if raw == nil {
					delete(model, key)
				} else {
					model[key] = raw
				}
			}
			continue
		}
		if relist {
			txn.Sweep()
		}
		for c := range txn.Commit().All() {
			if c.New != nil && !bytes.Equal(c.New.Raw().Bytes, next[c.Key]) {
				t.Fatalf("%s is reported as\n%s, want\n%s", c.Key, c.New.Raw().Bytes, next[c.Key])
			}
		}
		model = next
		for range 2 { // reads
			done++
			key, _ := m.object(m.r.IntN(keys))
			e, ok := s.Snapshot().Lookup(key)
			if want := model[key]; ok != (want != nil) || ok && !bytes.Equal(e.Raw().Bytes, want) {
				t.Fatalf("%s: %v", key, ok)
			}
		}
		if m.r.IntN(20) == 0 && s.Rebuild() {
			rebuilt++
		}
		if m.r.IntN(500) == 0 {
			snaps = append(snaps, kept{s.Snapshot(), maps.Clone(model)})
		}
		if len(snaps) > 6 || len(snaps) > 0 && m.r.IntN(3000) == 0 {
			i := m.r.IntN(len(snaps))
			check(snaps[i].snap, snaps[i].model)
			snaps = append(snaps[:i], snaps[i+1:]...)
		}
		if m.r.IntN(5000) == 0 {
			check(s.Snapshot(), model)
			for s.Compact() {
			}
		}
	}
	for _, k := range snaps {
		check(k.snap, k.model)
	}
	check(s.Snapshot(), model)
	if rebuilt == 0 {
		t.Error("it was never rebuilt: not all was tried")
	}
	t.Logf("%d operations; rebuilt %d times; %+v", ops, rebuilt, s.Stats())
}

// Memory of unreferenced objects is freed.
func TestMemoryOfDeletedObjectsIsFreed(t *testing.T) {
	m := &maker{r: rand.New(rand.NewPCG(2, 2))}
	s := New(Options{})
	n := short(3_000, 8_000)
	put := func(from, to int) {
		txn := s.Begin()
		for i := from; i < to; i++ {
			_, raw := m.object(i)
			txn.Put(m.entry(t, raw))
		}
		txn.Commit()
	}
	put(0, n)
	full := s.Stats().OffHeap
	func() {
		snap := s.Snapshot()
		txn := s.Begin()
		for i := range n * 9 / 10 {
			key, _ := m.object(i)
			txn.Delete(key, nil)
		}
		txn.Commit()
		for s.Compact() {
		}
		if held := s.Stats().OffHeap; held < full*9/10 {
			t.Errorf("%d of %d bytes, and a snapshot is held", held, full)
		}
		if snap.Len() != n {
			t.Error(snap.Len())
		}
	}()
	deadline := time.Now().Add(5 * time.Minute)
	for s.Stats().OffHeap > full/5 {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d bytes are held", s.Stats().OffHeap, full)
		}
		runtime.GC()
		for s.Compact() {
		}
		runtime.Gosched()
	}
}

// Readers at full speed beside a writer see whole objects only, and never one with freed memory. In
// this store freed memory is overwritten.
func TestReadersSeeWholeObjects(t *testing.T) {
	keys := short(600, 2000)
	m := &maker{r: rand.New(rand.NewPCG(3, 3))}
	s := New(Checked(Options{}))
	raws := make([][]byte, keys)
	txn := s.Begin()
	for i := range keys {
		_, raws[i] = m.object(i)
		txn.Put(m.entry(t, raws[i]))
	}
	txn.Commit()
	var stop atomic.Bool
	whole := func(e *Entry) bool {
		return e.Read(func(raw wire.Raw) error {
			b, h := string(raw.Bytes), e.Header()
			if !strings.Contains(b, `"name":"`+e.Key().Name+`"`) || !strings.HasSuffix(b, "}}") ||
				!strings.Contains(b, `"resourceVersion":"`+h.ResourceVersion+`","labels":{"app":"`+h.Labels["app"]+`"}`) {
				return fmt.Errorf("%s reads %q, its header is %+v", e.Key(), b, h)
			}
			return nil
		}) == nil
	}
	var readers sync.WaitGroup
	for name, read := range map[string]func(i int) bool{
		"all": func(int) bool {
			for e := range s.Snapshot().InNamespace("ns-3") {
				if !whole(e) {
					return false
				}
			}
			return true
		},
		"one, lent": func(i int) (ok bool) {
			key, _ := (&maker{r: rand.New(rand.NewPCG(3, 3))}).object(i % keys)
			return !s.Look(key, func(e *Entry) { ok = whole(e) }) || ok
		},
		"all, lent": func(int) bool {
			ok := true
			none, err := s.Snapshot().Select(Query{Match: func(e *Entry) bool {
				ok = ok && whole(e)
				return false
			}})
			if err == nil {
				for range none {
				}
			}
			return ok && err == nil
		},
	} {
		readers.Go(func() {
			for i := 0; !stop.Load(); i++ {
				if !read(i) {
					t.Errorf("%s: an object is torn", name)
					return
				}
			}
		})
	}
	for range long(short(800, 6_000), 500_000) / 8 {
		txn := s.Begin()
		for range 8 {
			key, raw := m.object(m.r.IntN(keys))
			if m.r.IntN(5) == 0 {
				txn.Delete(key, nil)
			} else {
				txn.Put(m.entry(t, raw))
			}
		}
		txn.Commit()
	}
	stop.Store(true)
	readers.Wait()
}
