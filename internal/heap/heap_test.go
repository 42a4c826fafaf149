package heap

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// modes are the ways a heap may be made.
var modes = map[string]Options{"mapped": {}, "mapped, poisoned": {Poison: true}, "Go heap": {GoHeap: true}, "Go heap, poisoned": {GoHeap: true, Poison: true}}

func each(t *testing.T, f func(t *testing.T, h *Heap)) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			h := New(o)
			f(t, h)
			verify(t, h)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// verify checks that the figures of the heap add up.
func verify(t interface{ Fatalf(string, ...any) }, h *Heap) {
	used, live, held, retiredBytes := 0, 0, len(*h.table.Load())*pageRefs*4, 0
	for i := range h.chunks {
		c := &h.chunks[i]
		held += pages(c.used)
		switch c.state {
		case retired:
			retiredBytes += pages(c.used)
		case idle:
			if c.used != 0 || c.live != 0 {
				t.Fatalf("chunk %d is idle and has %d bytes", i, c.used)
			}
		default:
			used += c.used
		}
		live += c.live
	}
	s := h.Stats()
	moving := int64(0)
	if h.clean.copying {
		moving = int64(size(len(h.at(h.clean.to))))
	}
	if used != h.used || live != h.live || int64(held) != s.Held || int64(retiredBytes) != s.Retired || s.Live+s.Waiting+moving != int64(live) {
		t.Fatalf("used %d, live %d, held %d, retired %d, moving %d; the heap says %d, %d, %+v", used, live, held, retiredBytes, moving, h.used, h.live, s)
	}
}

// settle compacts until nothing is left to do.
func settle(t interface{ Fatalf(string, ...any) }, h *Heap) (steps int) {
	for h.Step(0) {
		if steps++; steps > 1_000_000 {
			t.Fatalf("no end of steps: %+v", h.Stats())
		}
	}
	return steps
}

func put(t interface{ Fatalf(string, ...any) }, h *Heap, b []byte) Ref {
	ref, err := h.Put(b)
	if err != nil || ref == 0 {
		t.Fatalf("Put: %d, %v", ref, err)
	}
	return ref
}

func get(h *Heap, ref Ref) []byte {
	g := h.Pin()
	defer g.Release()
	return bytes.Clone(h.Bytes(ref))
}

func TestPutBytesFree(t *testing.T) {
	each(t, func(t *testing.T, h *Heap) {
		sizes := []int{0, 1, 7, 8, 9, 300, 70_000, chunkSize - head, chunkSize - head + 1, chunkSize, 3 << 20, 600_000, 600_001}
		var refs []Ref
		for i, n := range sizes {
			refs = append(refs, put(t, h, bytes.Repeat([]byte{byte(i + 1)}, n)))
		}
		for i, n := range sizes {
			if got := get(h, refs[i]); !bytes.Equal(got, bytes.Repeat([]byte{byte(i + 1)}, n)) {
				t.Errorf("%d bytes: got %d", n, len(got))
			}
		}
		if s := h.Stats(); s.Records != len(sizes) || s.Live < 5<<20 || s.Held < s.Live {
			t.Errorf("%+v", s)
		}
		for _, ref := range refs {
			h.Free(ref)
		}
		settle(t, h)
		if s := h.Stats(); s.Records != 0 || s.Live != 0 || s.Waiting != 0 || s.Retired != 0 || s.Held > pageRefs*4+2*slackBytes+8192 {
			t.Errorf("all freed: %+v", s)
		}
		for _, ref := range append(refs, 0, 1<<30) {
			if h.Bytes(ref) != nil {
				t.Errorf("%d is still there", ref)
			}
			h.Free(ref) // is ignored
		}
		again := put(t, h, []byte("again"))
		if again >= Ref(pageRefs) {
			t.Errorf("a new name, %d, though others are free", again)
		}
	})
}

func TestErrors(t *testing.T) {
	h := New(Options{})
	if _, err := h.Put(make([]byte, MaxRecord+1)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	h.refs = freeBit
	if _, err := h.Put(nil); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	h.refs = 0
	put(t, h, []byte("x"))
	h.fill[0] = -1
	h.chunks = make([]chunk, maxChunks)
	if _, err := h.Put(nil); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if err := errors.Join(h.Close(), h.Close()); err != nil {
		t.Error(err)
	}
	if _, err := h.Put(nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	h.Free(1)
	if h.Bytes(1) != nil || h.Step(0) {
		t.Error("a closed heap does something")
	}
}

// TestGivesBack frees nine of ten records, in no order.
func TestGivesBack(t *testing.T) {
	each(t, func(t *testing.T, h *Heap) {
		r := rand.New(rand.NewPCG(1, 1))
		var refs []Ref
		b := make([]byte, 700)
		for i := range 100_000 {
			refs = append(refs, put(t, h, append(b[:0:700], fmt.Sprintf("%0*d", 100+r.IntN(500), i)...)))
		}
		full := h.Stats()
		if full.Held > full.Live*11/10+chunkSize {
			t.Errorf("full: %+v", full)
		}
		kept := map[int]Ref{}
		for _, i := range r.Perm(len(refs)) {
			if len(kept) < len(refs)/10 {
				kept[i] = refs[i]
				continue
			}
			h.Free(refs[i])
		}
		settle(t, h)
		verify(t, h)
		s := h.Stats()
		t.Logf("%+v, then %+v", full, s)
		if s.Records != len(kept) || s.Held > s.Live*14/10+chunkSize {
			t.Errorf("freed: %+v", s)
		}
		for i, ref := range kept {
			if got := get(h, ref); !bytes.HasSuffix(got, fmt.Append(nil, i)) {
				t.Fatalf("record %d: %q", i, got)
			}
		}
	})
}

// TestChurnStaysSmall replaces each record many times without a call of Step.
func TestChurnStaysSmall(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	r := rand.New(rand.NewPCG(2, 2))
	refs := make([]Ref, 20_000)
	for k := range 400_000 {
		i := r.IntN(len(refs))
		if refs[i] != 0 {
			h.Free(refs[i])
		}
		refs[i] = put(t, h, make([]byte, 50+r.IntN(500)))
		if s := h.Stats(); k%1000 == 0 && s.Held > s.Live*14/10+2*chunkSize {
			t.Fatalf("after %d: %+v", k, s)
		}
	}
	verify(t, h)
}

// TestGuards: what is freed stays while somebody may ask for it, and no longer.
func TestGuards(t *testing.T) {
	each(t, func(t *testing.T, h *Heap) {
		a, b := put(t, h, []byte("a")), put(t, h, []byte("b"))
		hold := h.Hold()
		h.Free(a)
		settle(t, h)
		if got := get(h, a); string(got) != "a" {
			t.Errorf("under a Hold: %q", got)
		}
		if s := h.Stats(); s.Records != 1 || s.Waiting != int64(size(1)) {
			t.Errorf("%+v", s)
		}
		pin := h.Pin()
		hold.Release()
		hold.Release()
		seen := h.Bytes(a)
		settle(t, h)
		if string(seen) != "a" {
			t.Errorf("under a Pin: %q", seen)
		}
		pin.Release()
		settle(t, h)
		if h.Bytes(a) != nil {
			t.Error("nobody holds it, and it is there")
		}
		if got := get(h, b); string(got) != "b" {
			t.Errorf("%q", got)
		}
	})
}

// TestHoldDoesNotStopCompaction: chunks go back beside a long Hold.
func TestHoldDoesNotStopCompaction(t *testing.T) {
	h := New(Options{Poison: true})
	defer h.Close()
	var refs []Ref
	for range 40_000 {
		refs = append(refs, put(t, h, make([]byte, 400)))
	}
	for i, ref := range refs {
		if i%4 != 0 {
			h.Free(ref)
		}
	}
	hold := h.Hold()
	defer hold.Release()
	settle(t, h)
	if s := h.Stats(); s.Retired != 0 || s.Waiting > 20*int64(size(400)) || s.Held > s.Live*14/10+chunkSize {
		t.Errorf("%+v", s)
	}
}

// TestSmallSteps moves records of hundreds of kB a little at a time, and frees one in the middle.
func TestSmallSteps(t *testing.T) {
	each(t, func(t *testing.T, h *Heap) {
		big := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 300_000) }
		var refs []Ref
		for i := range 12 {
			refs = append(refs, put(t, h, big(i)))
		}
		for i := range 12 {
			if i%3 == 0 || i == 1 || i == 10 {
				h.Free(refs[i])
				refs[i] = 0
			}
		}
		freed, extra := false, 0
		for n := 0; ; n++ {
			more := h.Step(4096)
			verify(t, h)
			if h.clean.copying {
				if h.clean.copied > 4096*(n+1)+extra {
					t.Fatalf("%d bytes in %d steps", h.clean.copied, n+1)
				}
				if !freed && h.clean.copied > 100_000 {
					for i, ref := range refs {
						if ref != 0 && h.slot(ref).Load() == uint32(h.clean.victim*chunkUnit+(h.clean.at+head)/unit) {
							h.Free(ref)
							refs[i], freed, extra = 0, true, maxStep // Free makes a step, too
						}
					}
				}
			}
			for i, ref := range refs {
				if ref != 0 && !bytes.Equal(get(h, ref), big(i)) {
					t.Fatalf("record %d is another", i)
				}
			}
			if !more {
				break
			}
		}
		if !freed {
			t.Error("nothing was freed while it was copied: the test tests nothing")
		}
	})
}

// TestModel does everything in any order and compares with a map.
func TestModel(t *testing.T) { rapid.Check(t, model) }

func FuzzModel(f *testing.F) { f.Fuzz(rapid.MakeFuzz(model)) }

func model(t *rapid.T) {
	type held struct {
		g    Guard
		refs map[Ref][]byte
	}
	h := New(Options{GoHeap: rapid.Bool().Draw(t, "GoHeap"), Poison: true})
	defer h.Close()
	live := map[Ref][]byte{}
	var refs []Ref // of live
	var holds []held
	seed := byte(0)
	small, large := rapid.IntRange(0, 600), rapid.IntRange(0, 2_500_000)
	check := func(want map[Ref][]byte) {
		g := h.Pin()
		for ref, b := range want {
			if got := h.Bytes(ref); !bytes.Equal(got, b) {
				t.Fatalf("record %d: %d bytes %.20x, want %d bytes %.20x", ref, len(got), got, len(b), b)
			}
		}
		g.Release()
	}
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) {
			n, many := small.Draw(t, "bytes"), 1
			switch rapid.IntRange(0, 30).Draw(t, "how") {
			case 0:
				n = large.Draw(t, "bytes")
			case 1, 2, 3:
				many = 300
			}
			for range many {
				seed++
				b := bytes.Repeat([]byte{seed}, n)
				ref := put(t, h, b)
				if live[ref] != nil {
					t.Fatalf("%d is given twice", ref)
				}
				for _, x := range holds {
					if x.refs[ref] != nil {
						t.Fatalf("%d is given again while it is held", ref)
					}
				}
				live[ref], refs = b, append(refs, ref)
			}
		},
		"free": func(t *rapid.T) {
			if len(refs) == 0 {
				return
			}
			for range rapid.IntRange(1, len(refs)).Draw(t, "records") {
				i := int(seed) * 7919 % len(refs)
				seed++
				h.Free(refs[i])
				delete(live, refs[i])
				refs[i] = refs[len(refs)-1]
				refs = refs[:len(refs)-1]
			}
		},
		"hold": func(t *rapid.T) {
			x := held{h.Hold(), map[Ref][]byte{}}
			for ref, b := range live {
				x.refs[ref] = b
			}
			holds = append(holds, x)
		},
		"release": func(t *rapid.T) {
			if len(holds) > 0 {
				i := rapid.IntRange(0, len(holds)-1).Draw(t, "hold")
				holds[i].g.Release()
				holds = append(holds[:i], holds[i+1:]...)
			}
		},
		"step":   func(t *rapid.T) { h.Step(rapid.IntRange(0, maxStep).Draw(t, "max")) },
		"settle": func(t *rapid.T) { settle(t, h) },
		"": func(t *rapid.T) {
			verify(t, h)
			check(live)
			for _, x := range holds {
				check(x.refs)
			}
			if len(holds) == 0 {
				if s := h.Stats(); s.Records != len(live) {
					t.Fatalf("%d records, want %d", s.Records, len(live))
				}
			}
		},
	})
	for i := range holds {
		holds[i].g.Release()
	}
	settle(t, h)
	verify(t, h)
	if s := h.Stats(); s.Waiting != 0 || s.Retired != 0 || s.Held > s.Live*14/10+chunkSize+pageRefs*4 {
		t.Fatalf("at the end %+v", s)
	}
}
