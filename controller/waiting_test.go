package controller

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/store"
)

// A key has maxWaiting slots at most, however many changes come, in whatever batches. The first begins with the state
// that the handler saw last, and the last ends with the newest.
func TestWaitingChangesAreBounded(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var slots []waiting
		entries := []*store.Entry{testobj.Entry(testobj.Pod("web/a", testobj.Version("1")))}
		for n := 1 + draw.IntN(60); n > 0; {
			var batch []waiting
			for range min(n, 1+draw.IntN(12)) {
				n--
				last := entries[len(entries)-1]
				next := testobj.Entry(testobj.Pod("web/a", testobj.Version(fmt.Sprint(len(entries)+1))))
				entries = append(entries, next)
				batch = append(batch, waiting{number: uint64(len(entries)), change: store.Change{Key: last.Key(), Old: last, New: next}})
			}
			slots = mergeWaiting(slots, batch)
			if len(slots) > maxWaiting {
				t.Fatalf("%d slots", len(slots))
			}
			if first, last := slots[0].change.Old, slots[len(slots)-1].change.New; first != entries[0] || last != entries[len(entries)-1] {
				t.Fatalf("from %s to %s after %d changes", first.ResourceVersion(), last.ResourceVersion(), len(entries)-1)
			}
			for i, w := range slots[1:] {
				if w.change.Old != slots[i].change.New {
					t.Fatalf("slot %d begins with %s, and the one before ends with %s", i+1, w.change.Old.ResourceVersion(), slots[i].change.New.ResourceVersion())
				}
			}
		}
	}
}
