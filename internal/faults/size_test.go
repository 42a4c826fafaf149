package faults_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/planetest"
	"github.com/flyball-io/flyball/test/servertest"
)

// A few hundred objects of 1.5 MB arrive at full speed. They take little more memory than their
// size. The control plane is real: one in memory would count as memory of the program.
func TestFault07LargeObjectsScripted(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const size = 1_500_000
	count := pick(300, 100)
	payload := noise(2 * size)
	g := gatewayTo(t, planetest.Shared(t))
	g.Break(func(w http.ResponseWriter, req *http.Request) bool {
		if !isWatch(req) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		for i := range count {
			fmt.Fprintf(w, `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"big-%d","namespace":"n","uid":"u%d","resourceVersion":"%d"},"data":{"a":"`, i, i, 10+i)
			io.WriteString(w, payload[i*size/count:][:size])
			io.WriteString(w, `"}}}`+"\n")
		}
		fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", 10+count)
		http.NewResponseController(w).Flush()
		<-req.Context().Done()
		return true
	})
	f, err := cache.New(cache.Connect(dial(t, g.Config())), cache.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	must(t, err)
	kind, err := cache.Open[corev1.ConfigMap](t.Context(), f)
	must(t, err)
	atRest(t)
	_, before := measure(t)
	peak := heaptest.WatchPeak()
	_, cancel := runCache(t, f)
	ctx, done := context.WithTimeout(t.Context(), hung)
	defer done()
	must(t, f.WaitForSync(ctx))
	most := peak.End()
	content := int64(count * size)
	limit := content + content/5 + 8<<20
	_, after := measure(t)
	for after-before > limit && ctx.Err() == nil { // what is kept for more objects is let go when none come
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
			_, after = measure(t)
		}
	}
	t.Logf("%d MB of objects; %d MB in use, at most %d MB", content>>20, (after-before)>>20, (most-before)>>20)
	if after-before < content/2 {
		t.Errorf("%d bytes of objects take only %d: what was measured?", content, after-before)
	}
	if after-before > limit {
		t.Errorf("%d bytes of objects take %d", content, after-before)
	}
	if most-before > 2*content+content/2+64<<20 {
		t.Errorf("%d bytes of objects took up to %d", content, most-before)
	}
	if n := kind.Informer().State().Objects; n != count {
		t.Errorf("%d objects, want %d", n, count)
	}
	cancel()
}

// atRest returns when the API server in memory has nothing left to do: what earlier tests have left is being deleted.
func atRest(t *testing.T) {
	t.Helper()
	if s := servertest.Shared(t); s.Memory != nil {
		must(t, s.Memory.Settle(t.Context()))
	}
}

// runCache runs a cache until the test ends, or the function is called.
func runCache(t *testing.T, f *cache.Cache) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { defer close(over); f.Run(ctx) }()
	stop := sync.OnceFunc(func() { cancel(); <-over })
	t.Cleanup(stop)
	return ctx, stop
}

// noise returns text that compresses to three quarters of its size at best.
func noise(n int) string {
	b := make([]byte, n*3/4+3)
	rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)[:n]
}

// The same with ConfigMaps of the largest size that the API server accepts.
func TestFault07LargeObjects(t *testing.T) {
	tier.Audit(t, "measures the heap")
	const size = 1_000_000
	count := pick(300, 20)
	atRest(t)
	r := start(t, planetest.Shared(t), setup{})
	var big []*corev1.ConfigMap
	for round := range 2 {
		for i := range count {
			o := &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: fmt.Sprintf("big-%d", i)},
				Data:       map[string]string{"a": noise(size)},
			}
			var err error
			if round == 0 {
				o, err = client.Create(t.Context(), r.direct, o)
				big = append(big, &corev1.ConfigMap{ObjectMeta: o.ObjectMeta})
			} else {
				o, err = client.Update(t.Context(), r.direct, o)
			}
			must(t, err)
			r.book.Wrote(o)
		}
	}
	r.seen()
	if _, heap := measure(t); heap > r.heap+int64(count*size)*6/5+32<<20 {
		t.Errorf("%d bytes of objects take %d", count*size, heap-r.heap)
	}
	for _, o := range big {
		must(t, client.Delete(t.Context(), r.direct, o))
		r.book.Deleted(object.KeyOf(o), o.UID)
	}
	r.nothingLost()
}
