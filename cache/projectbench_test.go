package cache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// BenchmarkRead measures a read of a small Pod, as a view and as a whole.
func BenchmarkRead(b *testing.B) {
	cl := newCluster()
	cl.server("Pod", "").Put(testobj.Pod("a/p1", testobj.OnNode("n1"), testobj.Labels("app=web")))
	c, err := cache.New(cl.connection(), cache.Options{})
	if err != nil {
		b.Fatal(err)
	}
	h, err := c.Open(b.Context(), &corev1.Pod{}, client.Selection{})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	defer start(c)()
	if err := c.WaitForSync(b.Context()); err != nil {
		b.Fatal(err)
	}
	key := object.Key{Namespace: "a", Name: "p1"}
	bench := func(name string, read func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	bench("view", func() error {
		_, err := client.Project[corev1.Pod, struct{ Spec struct{ NodeName string } }](b.Context(), c, key)
		return err
	})
	bench("header", func() error {
		_, err := cache.Header[corev1.Pod](b.Context(), c, key)
		return err
	})
	bench("whole", func() error {
		_, err := client.Get[corev1.Pod](b.Context(), c, key)
		return err
	})
}
