package heap

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// filled is a record that says what it must be: a number, and nothing else but it.
func filled(v uint64, n int) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, v), n)
}

func intact(b []byte, v uint64) bool {
	if len(b) < 8 {
		return false
	}
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b) != v {
			return false
		}
	}
	return true
}

// TestReadersBesideAWriter: readers look at records, through entries that change and through
// snapshots that do not, while one goroutine replaces them and compacts.
func TestReadersBesideAWriter(t *testing.T) {
	rounds := 8_000
	if os.Getenv("FLYBALL_LONG") != "" {
		rounds = 5_000_000
	}
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			h := New(o)
			defer h.Close()
			const entries = 500
			type entry struct {
				ref   Ref
				value uint64
			}
			type table [entries]entry
			var current atomic.Pointer[table] // what a store publishes
			put := func(v uint64) entry {
				ref, err := h.Put(filled(v, 1+int(v%97)))
				if err != nil {
					t.Error(err)
				}
				return entry{ref, v}
			}
			var first table
			for i := range first {
				first[i] = put(uint64(i + 1))
			}
			current.Store(&first)

			var done atomic.Bool
			var wg sync.WaitGroup
			look := func(r *rand.Rand, of *table) bool {
				e := of[r.IntN(entries)]
				if b := h.Bytes(e.ref); !intact(b, e.value) {
					t.Errorf("record %d: %.16x, want %d", e.ref, b, e.value)
					return false
				}
				return true
			}
			for k := range 4 {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(k), 1))
					for !done.Load() {
						if k%2 == 0 {
							pin := h.Pin()
							ok := look(r, current.Load())
							pin.Release()
							if !ok {
								return
							}
							continue
						}
						hold := h.Hold()
						snapshot := current.Load()
						for range 2000 {
							pin := h.Pin()
							ok := look(r, snapshot)
							pin.Release()
							if !ok {
								return
							}
						}
						hold.Release()
					}
				})
			}
			r := rand.New(rand.NewPCG(9, 9))
			for v := range uint64(rounds) {
				next := *current.Load()
				i := r.IntN(entries)
				was := next[i].ref
				next[i] = put(v + 1000)
				current.Store(&next)
				h.Free(was)
				if t.Failed() {
					break
				}
			}
			done.Store(true)
			wg.Wait()
			settle(t, h)
			verify(t, h)
			if s := h.Stats(); s.Records != entries || s.Waiting != 0 || s.Retired != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}
