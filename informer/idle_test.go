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
	was := giveBack
	giveBack = func() { asked <- struct{}{} }
	t.Cleanup(func() { giveBack = was })
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
	during := b.in.spare.bytes
	b.Sweep("1")
	b.a.Commit()
	b.a.round()
	if during == 0 || b.in.spare.bytes != 0 {
		t.Errorf("%d bytes at hand for a list, and %d when it has ended", during, b.in.spare.bytes)
	}
	if held := b.in.store.Stats().Held; held < 2*muchLess {
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
	b.in.spare.give(make([]byte, 100))
	for range 2 {
		b.a.releaseIdle(time.Now().Add(quietFor))
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if b.in.spare.bytes != 0 || b.in.spare.take() != nil {
		t.Errorf("%d bytes are kept for what does not come", b.in.spare.bytes)
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
