package informer_test

import (
	"context"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/feedtest"
	"github.com/flyball-io/flyball/store"
)

// running is an informer of n ConfigMaps that has synced.
func running(b *testing.B, n int) (*feedtest.Server, *informer.Informer) {
	b.Helper()
	s := newServer()
	for i := range n {
		s.Put(configMap(strconv.Itoa(i), strconv.Itoa(i%100)))
	}
	in, err := informer.New(s, informer.Options{Kind: configMaps, Scheme: types})
	if err != nil {
		b.Fatal(err)
	}
	if err := in.AddIndex("data[value]", informer.IndexPath("data[value]")); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- in.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-result })
	<-in.Synced()
	return s, in
}

// BenchmarkEvent is the way of one change, JSON, from the server's bytes to a source, or to a
// handler that is given both objects; the making of the event included.
func BenchmarkEvent(b *testing.B) {
	bench := func(add func(*informer.Informer, chan<- struct{}) error) func(*testing.B) {
		return func(b *testing.B) {
			s, in := running(b, 1000)
			seen := make(chan struct{}, 1)
			if err := add(in, seen); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.PutJSON(key(strconv.Itoa(i%1000)), "", `"data":{"value":"x"}`)
				<-seen
			}
		}
	}
	b.Run("source", bench(func(in *informer.Informer, seen chan<- struct{}) error {
		r, err := in.Subscribe("source", func(c store.Change) {
			if !c.Initial {
				seen <- struct{}{}
			}
		})
		if err == nil {
			<-r.Synced() // a change before that would be part of what the source is given first
		}
		return err
	}))
	b.Run("handler", bench(func(in *informer.Informer, seen chan<- struct{}) error {
		r, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
			OnUpdate: func(_, _ *corev1.ConfigMap) { seen <- struct{}{} },
		})
		if err == nil {
			<-r.Synced() // an update before that would be merged into an add
		}
		return err
	}))
}

// BenchmarkRead is a read from 10,000 objects of JSON.
func BenchmarkRead(b *testing.B) {
	_, in := running(b, 10_000)
	whole, err := informer.NewLister[corev1.ConfigMap](in)
	if err != nil {
		b.Fatal(err)
	}
	meta, err := informer.NewLister[metav1.PartialObjectMetadata](in)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := whole.Get(key("77")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get metadata", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := meta.Get(key("77")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get header", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := whole.Header(key("77")); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("view", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v valueView
			if err := in.ProjectKey(key("77"), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list 100 by index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for range whole.Select(store.Is("data[value]", "7")) {
				n++
			}
			if n != 100 {
				b.Fatal(n)
			}
		}
	})
	b.Run("headers of 10,000", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for range whole.Headers("", nil) {
			}
		}
	})
}
