//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// BenchmarkCreate creates objects by 8 clients. Client and server are one process: its processor time is cpu-µs/op.
func BenchmarkCreate(b *testing.B) {
	var next atomic.Int64
	for _, k := range []struct {
		name string
		make func(i int64) client.Object
	}{
		{"configmaps", func(i int64) client.Object { return configMap(fmt.Sprintf("eight-%08d", i), "v") }},
		{"other", func(i int64) client.Object { return configMap(fmt.Sprintf("other-%08d", i), fmt.Sprint(100000000+i)) }},
		{"pods", func(i int64) client.Object { return pod(fmt.Sprintf("eight-%08d", i)) }},
	} {
		both(b, k.name, func(b *testing.B, c *contender) {
			b.SetParallelism(4)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := c.client.Create(b.Context(), k.make(next.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkGet reads one ConfigMap.
func BenchmarkGet(b *testing.B) {
	both(b, "configmap", func(b *testing.B, c *contender) {
		m := configMap("the-one", "v")
		if err := client.IgnoreAlreadyExists(c.client.Create(b.Context(), m)); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := c.client.Get(b.Context(), client.ObjectKeyFromObject(m), &corev1.ConfigMap{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkUpdate updates one ConfigMap. The rules program is another process, whose time is in ns/op only.
func BenchmarkUpdate(b *testing.B) {
	both(b, "configmap", func(b *testing.B, c *contender) {
		m := configMap("changed", "v")
		if err := c.client.Create(b.Context(), m); err != nil {
			if err := c.client.Get(b.Context(), client.ObjectKeyFromObject(m), m); err != nil {
				b.Fatal(err)
			}
		}
		for n := 0; b.Loop(); n++ {
			m.Data["k"] = fmt.Sprint(n)
			if err := c.client.Update(b.Context(), m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// both runs a benchmark on a server of this process, and on one over TCP.
func both(b *testing.B, name string, run func(*testing.B, *contender)) {
	for _, start := range []func(context.Context, io.Writer) (*contender, error){inMemory, overTCP} {
		c, err := start(b.Context(), io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.close() })
		label := name + "/memory"
		if c.name == tcp {
			label = name + "/tcp"
		}
		b.Run(label, func(b *testing.B) {
			b.ReportAllocs()
			before := processor(b)
			run(b, c)
			b.ReportMetric(float64((processor(b) - before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
		})
	}
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
