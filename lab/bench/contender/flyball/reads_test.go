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

// shapes are corpora whose reads cost different things: few labels, labels that all differ, large objects.
var shapes = []corpus.Spec{
	{Kind: "pods", Objects: 100_000, Owners: 50, ManagedFields: true, Seed: 1},
	{Kind: "networkendpoints", Objects: 20_000, Seed: 1},
	{Kind: "deliveries", Objects: 1_500, Seed: 1},
	{Kind: "certificates", Objects: 3_000, Seed: 1},
	{Kind: "services", Objects: 5_000, Seed: 1},
	{Kind: "releases", Objects: 800, Seed: 1},
	{Kind: "policyreports", Objects: 1_000, Seed: 1},
	{Kind: "dashboards", Objects: 500, Seed: 1},
}

// BenchmarkReads measures reads of Flyball's cache: of 512 objects, as package measure reads them, and of all, in an order
// without neighbours. Lists by label are in one namespace, and over all.
func BenchmarkReads(b *testing.B) {
	for _, spec := range shapes {
		b.Run(spec.Kind, func(b *testing.B) { benchReads(b, spec) })
	}
}

func benchReads(b *testing.B, spec corpus.Spec) {
	f := synced(b, spec).(*holder)
	var keys []contender.Key
	var values, apps []string
	spec.ManagedFields = false // making them is slow
	for n := range spec.Objects {
		o := spec.At(corpus.Scatter(n, spec.Objects))
		keys = append(keys, contender.Key{Key: object.KeyOf(o)})
		if n < 512 {
			values, apps = append(values, contender.IndexValue(o)), append(apps, o.GetLabels()[contender.AppLabel])
		}
	}
	for _, read := range []struct {
		name string
		do   func(contender.Key) error
	}{{"lent header", f.Shared}, {"header", f.Header}, {"projected", f.Project}, {"get", f.Get}} {
		for name, some := range map[string][]contender.Key{"512": keys[:min(512, len(keys))], "all": keys} {
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
	list("label", func(i int) (int, error) { return f.ByLabel(0, keys[i%len(apps)].Key.Namespace, apps[i%len(apps)]) })
	list("label, everywhere", func(i int) (int, error) { return f.ByLabel(0, "", apps[i%len(apps)]) })
}

// synced returns a contender that holds a corpus.
func synced(b *testing.B, spec corpus.Spec) contender.Contender {
	dir, err := replay.Dir("")
	if err != nil {
		b.Fatal(err)
	}
	form, view := replay.JSON, contender.Unstructured
	if replay.HasProtobuf(spec.Resource()) {
		form, view = replay.Protobuf, contender.Typed
	}
	tape, err := replay.Record(b.Context(), dir, spec, 0, form, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tape.Close() })
	server := httptest.NewServer(replay.NewServer(replay.Streaming, tape))
	b.Cleanup(server.Close)
	c, err := Library.Open(contender.Name{Library: contender.Flyball}, contender.Options{
		Kinds:   []contender.Kind{{Resource: spec.Resource(), View: view, ContentType: tape.ContentType(0)}},
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
