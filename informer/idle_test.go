package informer

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
)

// When nothing comes any more buffers are dropped, and when most of a large store has gone the runtime
// is asked for its memory, once.
func TestMemoryIsAskedBackWhenMostHasGone(t *testing.T) {
	asked := make(chan struct{}, 100)
	was := returnMemory
	returnMemory = func() { asked <- struct{}{} }
	t.Cleanup(func() { returnMemory = was })
	b := newRig(t)
	group, _ := run.New(t.Context())
	b.in.group = group
	r := rand.NewChaCha8([32]byte{1})
	entry := func(i, version int) *store.Entry {
		e, err := store.NewEntry(wire.Raw{Kind: &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap")}, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
			`{"metadata":{"name":"%d","uid":"%d","resourceVersion":"%d"},"data":{"a":%q}}`, i, i, version, noise(r))})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const n = 1000
	b.Replace()
	for i := range n {
		b.Put(entry(i, 1))
		b.a.Commit()
		b.a.round()
	}
	during := b.in.buffers.bytes
	b.Sweep("1")
	b.a.Commit()
	b.a.round()
	if during == 0 || b.in.buffers.bytes != 0 {
		t.Errorf("%d bytes of buffers during a list, %d after it", during, b.in.buffers.bytes)
	}
	if held := b.in.store.Stats().Held; held < 2*minShrink {
		t.Fatalf("%d bytes are not enough to try it with", held)
	}
	for i := range n {
		b.Delete(entry(i, 2))
		b.a.Commit()
		b.a.round()
	}
	if len(asked) > 0 || !b.in.store.Sparse() {
		t.Errorf("asked %d times, rebuilt: %v, while objects went", len(asked), !b.in.store.Sparse())
	}
	b.in.buffers.put(make([]byte, 100))
	for range 2 {
		b.a.releaseIdle(time.Now().Add(idleAfter))
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if b.in.buffers.bytes != 0 || b.in.buffers.get() != nil {
		t.Errorf("%d bytes of buffers on an idle watch", b.in.buffers.bytes)
	}
	if b.in.store.Sparse() {
		t.Error("the store was not rebuilt")
	}
	if len(asked) != 1 {
		t.Errorf("asked %d times; %d bytes are held", len(asked), b.in.store.Stats().Held)
	}
}

// noise is text that nothing makes smaller.
func noise(r *rand.ChaCha8) string {
	b := make([]byte, 18<<10)
	_, _ = r.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}
