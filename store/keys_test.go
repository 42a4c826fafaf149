package store

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// Whoever keeps a key, as queues do, keeps nothing of the object.
func TestAKeyKeepsNothingElse(t *testing.T) {
	const n, large = 500, 16 << 10
	text := strings.Repeat("x", large)
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	keys := make([]object.Key, 0, n)
	before := live()
	for i := range n {
		e, err := NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
			`{"metadata":{"namespace":"default","name":"n-%d","annotations":{"a":"%s%d"}}}`, i, text, i)})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Key())
	}
	if after := live(); after > before+n*large/4 {
		t.Errorf("%d keys keep %d bytes", n, after-before)
	}
	runtime.KeepAlive(keys)
}
