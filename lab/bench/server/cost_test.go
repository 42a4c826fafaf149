//go:build linux || darwin

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyball-io/flyball/apiserver"
)

// BenchmarkCreate creates objects by 8 clients on two processors. Client and server are one process: its processor time is
// cpu-µs/op. The constant contender is the cost of the client: a transport gives it an answer of before.
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
		among(b, k.name, func(b *testing.B, c *contender) {
			b.SetParallelism(4)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := c.client.Create(b.Context(), k.make(next.Add(1))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}, constant, inMemory, overTCP)
	}
}

// BenchmarkGet reads one object.
func BenchmarkGet(b *testing.B) {
	for _, k := range []struct {
		name string
		made client.Object
	}{{"configmap", configMap("the-one", "v")}, {"pod", pod("the-one")}} {
		among(b, k.name, func(b *testing.B, c *contender) {
			if err := client.IgnoreAlreadyExists(c.client.Create(b.Context(), k.made.DeepCopyObject().(client.Object))); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := c.client.Get(b.Context(), client.ObjectKeyFromObject(k.made), empty(k.made)); err != nil {
					b.Fatal(err)
				}
			}
		}, fakeClient, constant, inMemory, overTCP)
	}
}

// constant returns the client of a server in memory, which is asked only once for each method and path.
func constant(ctx context.Context, log io.Writer) (*contender, error) {
	s, err := apiserver.New(ctx, apiserver.Options{InMemory: true, Progress: log})
	if err != nil {
		return nil, err
	}
	config := s.RESTConfig()
	server, err := rest.TransportFor(s.RESTConfig())
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	known := map[string]*answer{}
	config.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		mu.Lock()
		a := known[req.URL.Path]
		mu.Unlock()
		if a == nil || a.resp.Request.Method != req.Method {
			resp, err := server.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return nil, err
			}
			a = &answer{resp, body}
			mu.Lock()
			known[req.URL.Path] = a
			mu.Unlock()
		}
		resp := *a.resp
		resp.Body, resp.Request = io.NopCloser(bytes.NewReader(a.body)), req
		return &resp, nil
	})
	c, err := client.New(config, client.Options{Scheme: scheme.Scheme})
	return &contender{name: "constant", client: c, close: s.Close}, err
}

type answer struct {
	resp *http.Response
	body []byte
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// BenchmarkUpdate updates one ConfigMap. The rules program is another process, whose time is in ns/op only.
func BenchmarkUpdate(b *testing.B) {
	among(b, "configmap", func(b *testing.B, c *contender) {
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
	}, fakeClient, inMemory, overTCP)
}

// among runs a benchmark with several contenders.
func among(b *testing.B, name string, run func(*testing.B, *contender), contenders ...func(context.Context, io.Writer) (*contender, error)) {
	for _, start := range contenders {
		c, err := start(b.Context(), io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			before := processor(b)
			run(b, c)
			b.ReportMetric(float64((processor(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/op")
		})
		if err := c.close(); err != nil {
			b.Error(err)
		}
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
