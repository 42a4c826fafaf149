package flyball

import (
	"context"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/lab/bench/replay"
	"github.com/flyball-io/flyball/object"
)

const readObjects = 100_000

// BenchmarkReads measures reads of 100,000 Pods in Flyball's cache: of 512 of them, as package
// measure reads them, and of all, in an order without neighbours.
func BenchmarkReads(b *testing.B) {
	spec := corpus.Spec{Kind: "pods", Objects: readObjects, Owners: 50, ManagedFields: true, Seed: 1}
	f := synced(b, spec).(*holder)
	var keys []contender.Key
	var values []string
	spec.ManagedFields = false // making them is slow
	for n := range readObjects {
		o := spec.At(n * 7919 % readObjects)
		keys = append(keys, contender.Key{Key: object.KeyOf(o)})
		if n < 512 {
			values = append(values, contender.IndexValue(o))
		}
	}
	app := spec.At(0).GetLabels()[contender.AppLabel]
	for _, read := range []struct {
		name string
		do   func(contender.Key) error
	}{{"header", f.Header}, {"copied header", f.copied}, {"projected", f.Project}, {"get", f.Get}} {
		for name, some := range map[string][]contender.Key{"512": keys[:512], "all": keys} {
			b.Run(read.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if err := read.do(some[i%len(some)]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	list := func(name string, do func(i int) (int, error)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			found := 0
			for i := 0; b.Loop(); i++ {
				n, err := do(i)
				if err != nil {
					b.Fatal(err)
				}
				found += n
			}
			b.ReportMetric(float64(found)/float64(b.N), "objects/op")
		})
	}
	list("index", func(i int) (int, error) { return f.ByIndex(0, values[i%len(values)]) })
	list("label", func(i int) (int, error) { return f.ByLabel(0, keys[0].Key.Namespace, app) })
}

// synced returns a contender that holds a corpus.
func synced(b *testing.B, spec corpus.Spec) contender.Contender {
	dir, err := replay.Dir("")
	if err != nil {
		b.Fatal(err)
	}
	tape, err := replay.Record(b.Context(), dir, spec, 0, replay.Protobuf, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tape.Close() })
	server := httptest.NewServer(replay.NewServer(replay.Streaming, tape))
	b.Cleanup(server.Close)
	c, err := Library.Open(contender.Name{Library: contender.Flyball}, contender.Options{
		Kinds:   []contender.Kind{{Resource: spec.Resource(), View: contender.Typed, ContentType: tape.ContentType(0)}},
		OnEvent: func(int, string) {}, Config: &rest.Config{Host: server.URL, QPS: -1},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	b.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		running.Wait()
	})
	for c.WaitForSync(ctx) != nil { // it fails until Run has begun, and no event announces that
		time.Sleep(time.Millisecond)
	}
	return c
}
