package heap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

// places is an owner of records like a store: each version of it is a map of its own.
type places map[uint32]Place

func (p places) Place(tag uint32) Place    { return p[tag] }
func (p places) Move(tag uint32, to Place) { p[tag] = to }
func (p places) put(h *Heap, tag uint32, b []byte) error {
	to, err := h.Put(tag, b)
	if err != nil {
		return err
	}
	if was := p[tag]; was != 0 {
		h.Free(was)
	}
	p[tag] = to
	return nil
}

func (p places) free(h *Heap, tag uint32) {
	h.Free(p[tag])
	delete(p, tag)
}

func mustPut(t testing.TB, h *Heap, p places, tag uint32, b []byte) {
	t.Helper()
	if err := p.put(h, tag, b); err != nil {
		t.Fatal(err)
	}
}

func read(c Chunks, p Place) (b []byte) {
	c.Read(p, func(at []byte) { b = bytes.Clone(at) })
	return b
}

// Each version has the content of a plain map at that moment, whatever the writer and the collector
// do later.
func TestVersionsAgreeWithAMap(t *testing.T) {
	type version struct {
		chunks Chunks
		places places
		model  map[uint32][]byte
	}
	rapid.Check(t, func(t *rapid.T) {
		h := New(Options{Poison: rapid.Bool().Draw(t, "poison")})
		is := version{places: places{}, model: map[uint32][]byte{}}
		var kept []version
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		check := func(v version) {
			if len(v.places) != len(v.model) {
				t.Fatalf("%d records, want %d", len(v.places), len(v.model))
			}
			for tag, want := range v.model {
				if got := read(v.chunks, v.places[tag]); !bytes.Equal(got, want) {
					t.Fatalf("record %d has %d bytes, want %d, or others", tag, len(got), len(want))
				}
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "versions") {
			most := rapid.SampledFrom([]int{1, 300, 5_000, 300_000}).Draw(t, "largest")
			for range rapid.IntRange(0, 25).Draw(t, "writes") {
				tag := r.Uint32N(60)
				if is.model[tag] != nil && r.IntN(3) == 0 {
					is.places.free(h, tag)
					delete(is.model, tag)
					continue
				}
				b := bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(most))
				if len(b) > 8 {
					binary.LittleEndian.PutUint64(b, r.Uint64())
				}
				if err := is.places.put(h, tag, b); err != nil {
					t.Fatal(err)
				}
				is.model[tag] = b
			}
			switch rapid.IntRange(0, 9).Draw(t, "then") {
			case 0:
				for h.Compact(is.places, 1000) {
				}
				if s := h.Stats(); s.Used-s.Live > max(s.Live/9, slack) {
					t.Fatalf("much is dead: %+v", s)
				}
			case 1:
				h.Compact(is.places, rapid.IntRange(1, 1<<20).Draw(t, "bytes"))
			case 2:
				runtime.GC()
			case 3:
				if len(kept) > 0 {
					check(kept[0])
					kept = kept[1:]
				}
			default:
				h.Tidy(is.places)
			}
			is.chunks = h.Chunks()
			if len(kept) < 5 {
				kept = append(kept, version{is.chunks, maps.Clone(is.places), maps.Clone(is.model)})
			}
		}
		for _, v := range append(kept, is) {
			check(v)
		}
		var live int64
		for _, b := range is.model {
			live += int64(size(len(b)))
		}
		if s := h.Stats(); s.Live != live || s.Used < live {
			t.Fatalf("%d bytes are alive: %+v", live, s)
		}
	})
}

// until waits for the effect of a cleanup.
func until(t *testing.T, done func() bool, what string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		runtime.GC()
	}
}

// A held version keeps its content, and nothing written later.
func TestHeldVersionKeepsOnlyItsContent(t *testing.T) {
	h, is := New(Options{}), places{}
	for tag := range uint32(1000) {
		mustPut(t, h, is, tag, make([]byte, 300))
	}
	held, at := h.Chunks(), maps.Clone(is)
	full := h.Stats().Held
	b := make([]byte, 300)
	for i := range 50_000 {
		binary.LittleEndian.PutUint32(b, uint32(i))
		mustPut(t, h, is, uint32(i)%1000, b)
		h.Tidy(is)
		h.Chunks()
	}
	for h.Compact(is, 1<<20) {
	}
	until(t, func() bool { return h.Stats().Held <= 4*full }, "a version keeps later ones")
	for tag := range uint32(1000) {
		if !bytes.Equal(read(held, at[tag]), make([]byte, 300)) {
			t.Fatalf("record %d has changed", tag)
		}
	}
	runtime.KeepAlive(held)
	held = nil
	until(t, func() bool { s := h.Stats(); return s.Dropped == 0 }, "chunks that no version has are kept")
	if s := h.Stats(); s.Held > 2*full {
		t.Errorf("%+v, it was %d", s, full)
	}
}

// An unreferenced heap frees all its memory.
func TestDroppedHeapFreesItsMemory(t *testing.T) {
	before, _ := Process()
	h, is := New(Options{}), places{}
	for tag := range uint32(10_000) {
		mustPut(t, h, is, tag, make([]byte, 300))
	}
	if s := h.Stats(); s.Mapped > 0 {
		if mapped, _ := Process(); mapped < before+s.Mapped {
			t.Errorf("%d bytes of the process, %d before: %+v", mapped, before, s)
		}
	}
	h = nil
	until(t, func() bool { mapped, _ := Process(); return mapped <= before }, "a heap stays")
}

// Compaction beside writes frees dead bytes; without writes it frees all but a tenth.
func TestCompactionFreesDeadBytes(t *testing.T) {
	h, is := New(Options{}), places{}
	r := rand.New(rand.NewPCG(3, 3))
	b := make([]byte, 300)
	for tag := range uint32(20_000) {
		mustPut(t, h, is, tag, b)
	}
	for range 40_000 {
		mustPut(t, h, is, r.Uint32N(20_000), b)
		h.Tidy(is)
		if s := h.Stats(); s.Used-s.Live > s.Live*2/5 {
			t.Fatalf("compaction is behind: %+v", s)
		}
	}
	for h.Compact(is, 1<<10) {
	}
	if s := h.Stats(); s.Used-s.Live > s.Live/9 {
		t.Errorf("%+v", s)
	}
	for tag := range uint32(20_000) {
		is.free(h, tag)
	}
	if s := h.Stats(); s.Used != 0 || s.Live != 0 {
		t.Errorf("nothing is alive: %+v", s)
	}
}

// A small heap uses little memory, and records of any size fit.
func TestRecordsOfAnySizeFit(t *testing.T) {
	h, is := New(Options{GoHeap: true}), places{}
	mustPut(t, h, is, 1, []byte("x"))
	if s := h.Stats(); s.Held > minChunk || s.Mapped != 0 {
		t.Errorf("one record: %+v", s)
	}
	for i, n := range []int{0, 1, minChunk, minChunk + 1, ownChunk - 1, ownChunk, maxChunk, 3*maxChunk + 1} {
		b := bytes.Repeat([]byte{byte(i + 1)}, n)
		mustPut(t, h, is, uint32(i+2), b)
		if got := read(h.Chunks(), is[uint32(i+2)]); !bytes.Equal(got, b) {
			t.Errorf("a record of %d bytes is not what it was", n)
		}
	}
	if _, err := h.Put(1, make([]byte, MaxRecord+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	h.vacant, h.chunks, h.current = nil, make(Chunks, maxChunks), -1
	if _, err := h.Put(1, nil); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
}

// In a full heap compaction ends and loses nothing.
func TestCompactionOfAFullHeapLosesNothing(t *testing.T) {
	h, is := New(Options{}), places{}
	for tag := range uint32(300) {
		mustPut(t, h, is, tag, make([]byte, 1000))
	}
	for tag := range uint32(150) {
		is.free(h, tag*2)
	}
	for len(h.chunks) < maxChunks {
		h.chunks, h.usages = append(h.chunks, h.chunks[0]), append(h.usages, usage{})
	}
	h.vacant = nil
	for range 10 { // the open chunk may still have room
		if !h.Compact(is, 1<<20) {
			break
		}
	}
	if h.Compact(is, 1<<20) {
		t.Error("there is always more to do")
	}
	for tag, p := range is {
		if len(read(h.Chunks(), p)) != 1000 {
			t.Errorf("record %d is lost", tag)
		}
	}
}

// Readers beside a writer see whole records of their version. In this heap unreferenced chunks are
// overwritten.
func TestReadersBesideAWriter(t *testing.T) {
	h, is := New(Options{Poison: true}), places{}
	type version struct {
		chunks Chunks
		places places
		n      uint32
	}
	var mu sync.Mutex
	var now version
	const tags = 500
	write := func(n uint32) {
		for tag := range uint32(tags) {
			if n > 0 && (tag+n)%5 > 0 {
				continue
			}
			b := make([]byte, 8+4*(tag%50))
			for i := 0; i < len(b); i += 4 {
				binary.LittleEndian.PutUint32(b[i:], tag)
			}
			mustPut(t, h, is, tag, b)
		}
		h.Tidy(is)
		mu.Lock()
		now = version{h.Chunks(), maps.Clone(is), n}
		mu.Unlock()
	}
	write(0)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				v := now
				mu.Unlock()
				for tag := range uint32(tags) {
					v.chunks.Read(v.places[tag], func(b []byte) {
						for i := 0; i < len(b); i += 4 {
							if got := binary.LittleEndian.Uint32(b[i:]); got != tag {
								t.Errorf("record %d of version %d has %x", tag, v.n, got)
								return
							}
						}
					})
				}
			}
		})
	}
	for n := range uint32(400) {
		write(n + 1)
		if n%40 == 0 {
			runtime.GC()
		}
	}
	close(stop)
	readers.Wait()
}

// A collection is requested when much memory waits for it, in proportion to all, and not in quick
// succession.
func TestCollectionIsDueInProportionToMemory(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		waiting, live int64
		since         time.Duration
		want          bool
	}{
		{15 * mb, 0, time.Hour, false},
		{17 * mb, 0, time.Hour, true},
		{17 * mb, 0, minInterval - 1, false},
		{17 * mb, 60 * mb, minInterval, true},
		{17 * mb, 100 * mb, time.Hour, false},
		{300 * mb, 1000 * mb, time.Hour, true},
	} {
		if got := due(c.waiting, c.live, c.since); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Memory of a burst of writes is freed in a program that never collects by itself.
func TestRelieveFreesABurst(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	h, is := New(Options{}), places{}
	b := make([]byte, 100<<10)
	const flood = 100 << 20
	for n := 0; n < flood; n += len(b) {
		mustPut(t, h, is, 1, b)
		h.Tidy(is)
	}
	for deadline := time.Now().Add(5 * time.Minute); h.Stats().Mapped > flood/2; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", h.Stats())
		}
		Relieve()
	}
}
