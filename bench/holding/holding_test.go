// Package holding measures the store alone: records, templates, indexes.
package holding

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/flyball-io/flyball/bench/corpus"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

var objects = flag.Int("objects", 20_000, "how many objects a store holds")

type sample struct {
	name string
	spec corpus.Spec
	keep bool // managedFields
}

func samples() []sample {
	pods := corpus.Spec{Kind: "pods", Objects: *objects, Owners: 50, ManagedFields: true, Seed: 1}
	all := []sample{{"pods", pods, false}, {"pods-managed", pods, true}}
	pods.Owners = max(*objects/20, 1)
	all = append(all, sample{"pods-many-owners", pods, false})
	for _, k := range []string{"nodes", "configmaps", "secrets", "deployments", "events", "widgets"} {
		n := *objects
		if k == "configmaps" || k == "secrets" {
			n = max(n/20, 1)
		}
		all = append(all, sample{k, corpus.Spec{Kind: k, Objects: n, Owners: 50, ManagedFields: true, Seed: 1}, false})
	}
	return all
}

// raw returns an object as it arrives.
func (s sample) raw(b *testing.B, k *wire.Kind, i, change int) wire.Raw {
	o := s.spec.Changed(i, change)
	if change > 0 {
		o.SetResourceVersion(fmt.Sprint(corpus.FirstVersion + s.spec.Len() + change))
	}
	raw := wire.Raw{Kind: k, Encoding: wire.Protobuf}
	var err error
	if m, ok := o.(interface{ Marshal() ([]byte, error) }); ok {
		raw.Bytes, err = m.Marshal()
	} else {
		raw.Encoding = wire.JSON
		o.GetObjectKind().SetGroupVersionKind(k.GVK)
		raw.Bytes, err = json.Marshal(o)
	}
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

func (s sample) entry(b *testing.B, raw wire.Raw) *store.Entry {
	if !s.keep {
		raw = wire.CutManagedFields(nil, raw)
	}
	e, err := store.NewEntry(raw)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func heapNow() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkList puts a whole first list into a store, per object, and reports the memory of the
// store.
func BenchmarkList(b *testing.B) {
	for _, s := range samples() {
		b.Run(s.name, func(b *testing.B) {
			k := &wire.Kind{GVK: s.spec.GVK(), Scheme: scheme.New()}
			raws := make([]wire.Raw, s.spec.Len())
			for i := range raws {
				raws[i] = s.raw(b, k, i, 0)
			}
			var st store.Stats
			var before, after uint64
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				before = heapNow()
				b.StartTimer()
				held := store.New(store.Options{})
				txn := held.Begin()
				txn.Replace()
				for _, raw := range raws {
					txn.Put(s.entry(b, raw))
				}
				txn.Sweep()
				txn.Commit()
				b.StopTimer()
				after = heapNow()
				st = held.Stats()
				b.StartTimer()
			}
			n := float64(len(raws))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/object")
			b.ReportMetric(float64(st.Bytes)/n, "wire-B/object")
			b.ReportMetric(float64(st.OffHeap)/n, "offheap-B/object")
			b.ReportMetric(float64(after-before)/n, "goheap-B/object")
			b.ReportMetric(float64(st.Templates), "templates")
		})
	}
}

// BenchmarkUpdate measures one change of an object, from its bytes to the reported change, in
// commits of different sizes.
func BenchmarkUpdate(b *testing.B) {
	for _, s := range samples() {
		b.Run(s.name, s.update)
	}
}

func (s sample) update(b *testing.B) {
	k := &wire.Kind{GVK: s.spec.GVK(), Scheme: scheme.New()}
	s.spec.Objects = min(s.spec.Len(), 5000)
	first := make([]wire.Raw, s.spec.Len())
	for i := range first {
		first[i] = s.raw(b, k, i, 0)
	}
	changes := make([]wire.Raw, 2*len(first))
	for i := range changes {
		changes[i] = s.raw(b, k, i*7919%len(first), i+1)
	}
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			b.ReportAllocs()
			var held *store.Store
			var txn *store.Txn
			for i := 0; b.Loop(); i++ {
				if i%len(changes) == 0 { // a store does not go back to older versions
					b.StopTimer()
					if held != nil {
						txn.Discard()
					}
					held = store.New(store.Options{})
					txn = held.Begin()
					txn.Replace()
					for _, raw := range first {
						txn.Put(s.entry(b, raw))
					}
					txn.Sweep()
					txn.Commit()
					txn = held.Begin()
					b.StartTimer()
				}
				txn.Put(s.entry(b, changes[i%len(changes)]))
				if i%batch != 0 {
					continue
				}
				for c := range txn.Commit().All() {
					if c.New == nil {
						b.Fatal(c.Key)
					}
				}
				txn = held.Begin()
			}
			txn.Discard()
		})
	}
}
