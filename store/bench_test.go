package store

import (
	"fmt"
	"testing"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

const benchObjects = 100_000

func benchEntry(i, version int, labels ...map[string]string) *Entry {
	h := object.Header{
		Key:             object.Key{Namespace: unique.Make(fmt.Sprintf("namespace-%d", i%50)).Value(), Name: fmt.Sprintf("deployment-5f6d8c7b9-%06d", i)},
		UID:             types.UID(fmt.Sprintf("b3c1e7a2-0000-4000-8000-%012d", i)),
		ResourceVersion: fmt.Sprint(version),
		Labels:          map[string]string{"app": fmt.Sprintf("app-%d", i%1000)},
	}
	if len(labels) > 0 {
		h.Labels = labels[0]
	}
	return entry(h)
}

// benchStore holds 100,000 objects under two indexes: 1,000 values and 50.
func benchStore(b *testing.B) *Store {
	s := New(Options{})
	for name, by := range map[string]Indexer{"app": ByLabel("app"), "namespace": byNamespace()} {
		if err := s.AddIndex(name, by); err != nil {
			b.Fatal(err)
		}
	}
	txn := s.Begin()
	txn.Replace()
	for i := range benchObjects {
		txn.Put(benchEntry(i, i+1))
	}
	txn.Sweep()
	txn.Commit()
	return s
}

// BenchmarkPut is one update, per object, in commits of different sizes. The indexed values do not
// change.
func BenchmarkPut(b *testing.B) {
	for _, batch := range []int{1, 10, 100, 10_000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := benchStore(b)
			benchPut(b, s, batch)
		})
	}
}

// benchPut updates the objects of benchStore in turn, in commits of batch objects. With labels, all
// objects get the first, then all get the next.
func benchPut(b *testing.B, s *Store, batch int, labels ...map[string]string) {
	entries := make([]*Entry, 4*benchObjects)
	for i := range entries {
		object, version := i*7919%benchObjects, benchObjects+i+1
		if len(labels) == 0 {
			entries[i] = benchEntry(object, version)
		} else {
			entries[i] = benchEntry(object, version, labels[i/benchObjects%len(labels)])
		}
	}
	b.ReportAllocs()
	txn := s.Begin()
	for i := 0; b.Loop(); i++ {
		if i > 0 && i%batch == 0 {
			txn.Commit()
			txn = s.Begin()
		}
		txn.Put(entries[i%len(entries)])
	}
	txn.Commit()
}

// BenchmarkPutMoves is BenchmarkPut with updates that move the object in one index.
func BenchmarkPutMoves(b *testing.B) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := benchStore(b)
			benchPut(b, s, batch, map[string]string{"app": "app-1"}, map[string]string{"app": "app-999"})
		})
	}
}

// BenchmarkFirstList is a complete first list, per object.
func BenchmarkFirstList(b *testing.B) {
	benchList(b, func() *Store { return New(Options{}) })
}

// BenchmarkRelist is a relist without changes, per object.
func BenchmarkRelist(b *testing.B) {
	s := benchStore(b)
	benchList(b, func() *Store { return s })
}

// benchList puts a complete list into a store, per object.
func benchList(b *testing.B, into func() *Store) {
	entries := make([]*Entry, benchObjects)
	for i := range entries {
		entries[i] = benchEntry(i, i+1)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := into()
		txn := s.Begin()
		txn.Replace()
		for _, e := range entries {
			txn.Put(e)
		}
		txn.Sweep()
		txn.Commit()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchObjects, "ns/object")
}

func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	keys := make([]object.Key, benchObjects)
	for i := range keys {
		keys[i] = benchEntry(i*7919%benchObjects, 0).key
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := s.Snapshot().Get(keys[i%benchObjects]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads about 100 entries; per read.
func BenchmarkRead(b *testing.B) {
	s := benchStore(b)
	for _, c := range []struct {
		name string
		q    Query
	}{
		{"index", Query{Where: Is("app", "app-7")}},
		{"and", Query{Where: And(Is("namespace", "namespace-7"), Is("app", "app-7"))}},
		{"or", Query{Where: Or(Is("app", "app-7"), Is("app", "app-8"))}},
		{"all", Query{}},
		{"namespace", Query{Namespace: "namespace-7"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				seq, err := s.Snapshot().Select(c.q)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				for range seq {
					if n++; n == 100 {
						break
					}
				}
				if n != 100 {
					b.Fatal(n)
				}
			}
		})
	}
}

func BenchmarkAddIndex(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.AddIndex("second", ByLabel("app")); err != nil {
			b.Fatal(err)
		}
		if err := s.RemoveIndex("second"); err != nil {
			b.Fatal(err)
		}
	}
}
