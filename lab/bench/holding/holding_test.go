// Package holding measures the store alone: records, templates, indexes.
package holding

import (
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/lab/bench/corpus"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/store"
)

var objects = flag.Int("objects", 20_000, "how many objects a store holds")

type sample struct {
	corpus.Corpus
	name string
	keep bool // managedFields
}

func samples() []sample {
	pods := corpus.Spec{Kind: "pods", Objects: *objects, Owners: 50, ManagedFields: true, Seed: 1}
	all := []sample{{pods, "pods", false}, {pods, "pods-managed", true}}
	pods.Owners = max(*objects/20, 1)
	all = append(all, sample{pods, "pods-many-owners", false})
	for _, k := range []string{"nodes", "configmaps", "secrets", "deployments", "events", "widgets"} {
		n := *objects
		if k == "configmaps" || k == "secrets" {
			n = max(n/20, 1)
		}
		all = append(all, sample{corpus.Spec{Kind: k, Objects: n, Owners: 50, ManagedFields: true, Seed: 1}, k, false})
	}
	for _, k := range []string{"networkendpoints", "deliveries", "certificates", "policyreports", "routes", "machines", "secretstores", "dashboards", "services", "releases"} {
		all = append(all, sample{corpus.Spec{Kind: k, Objects: max(*objects/20, 1), ManagedFields: true, Seed: 1}, k, false})
	}
	return append(all, ofCluster()...)
}

// ofCluster returns a sample for each kind of a cluster, which has -objects in all.
func ofCluster() (all []sample) {
	cluster, err := corpus.NewCluster(*objects, true, 1)
	if err != nil {
		panic(err)
	}
	for _, r := range cluster.Resources() {
		part, err := corpus.PartOf(cluster, r.GVR.Resource)
		if err != nil {
			panic(err)
		}
		all = append(all, sample{part, "cluster/" + r.GVR.Resource, false})
	}
	return all
}

func (s sample) gvk() schema.GroupVersionKind { return s.Resources()[0].GVK }

// raw returns an object as it arrives.
func (s sample) raw(b *testing.B, k *wire.Kind, o corpus.Object) wire.Raw {
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

// listed returns the objects of a first list, n at most.
func (s sample) listed(b *testing.B, k *wire.Kind, n int) []wire.Raw {
	all := make([]wire.Raw, min(n, s.Len()))
	for i := range all {
		all[i] = s.raw(b, k, s.At(i))
	}
	return all
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
			k := &wire.Kind{GVK: s.gvk(), Scheme: scheme.New()}
			raws := s.listed(b, k, s.Len())
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
	const most = 5000 // objects
	if spec, ok := s.Corpus.(corpus.Spec); ok {
		spec.Objects = min(spec.Objects, most)
		s.Corpus = spec
	}
	k := &wire.Kind{GVK: s.gvk(), Scheme: scheme.New()}
	first := s.listed(b, k, s.Len())
	churn := s.Churn(2 * min(len(first), most))
	changes := make([]wire.Raw, len(churn.Steps))
	for i := range changes {
		o := churn.Object(i)
		o.SetResourceVersion(fmt.Sprint(corpus.Version(s) + 1 + i))
		changes[i] = s.raw(b, k, o)
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
				if e := s.entry(b, changes[i%len(changes)]); churn.Steps[i%len(changes)].Deleted {
					txn.Delete(e.Key(), e)
				} else {
					txn.Put(e)
				}
				if i%batch != 0 {
					continue
				}
				for c := range txn.Commit().All() {
					if c.New == nil && c.Old == nil {
						b.Fatal(c.Key)
					}
				}
				txn = held.Begin()
			}
			txn.Discard()
		})
	}
}
