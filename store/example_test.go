package store_test

import (
	"fmt"
	"log"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

func pod(name, version, node string) *store.Entry {
	e, err := store.NewEntry(wire.Raw{Kind: podKind, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":%q,"uid":%q,"resourceVersion":%q},"spec":{"nodeName":%q}}`,
		name, "uid-of-"+name, version, node)})
	if err != nil {
		log.Fatal(err)
	}
	return e
}

// A list is put into the store as one transaction; then changes follow. Each Commit returns the
// changes.
func Example() {
	s := store.New(store.Options{})

	txn := s.Begin()
	txn.Replace()
	txn.Put(pod("web", "1", "node-a"))
	txn.Put(pod("db", "2", "node-b"))
	txn.Sweep()
	txn.Commit()

	txn = s.Begin()
	txn.Put(pod("web", "5", "node-a"))
	txn.Delete(object.Key{Namespace: "default", Name: "db"}, pod("db", "6", "node-b"))
	for c := range txn.Commit().All() {
		switch {
		case c.Old == nil:
			fmt.Println(c.Key, "appeared")
		case c.Deleted():
			fmt.Println(c.Key, "went at", c.Last.Header().ResourceVersion)
		default:
			fmt.Println(c.Key, "changed from", c.Old.Header().ResourceVersion, "to", c.New.Header().ResourceVersion)
		}
	}
	// Output:
	// default/web changed from 1 to 5
	// default/db went at 6
}

// An index by a field finds objects without decoding any.
func ExampleByPath() {
	nodeName, err := store.ByPath(reflect.TypeFor[corev1.Pod](), "spec.nodeName")
	if err != nil {
		log.Fatal(err)
	}
	s := store.New(store.Options{})
	if err := s.AddIndex("node", nodeName); err != nil {
		log.Fatal(err)
	}
	txn := s.Begin()
	txn.Put(pod("web", "1", "node-a"))
	txn.Put(pod("db", "2", "node-b"))
	txn.Put(pod("cache", "3", "node-a"))
	txn.Commit()

	onA, err := s.Snapshot().Index("node", "node-a")
	if err != nil {
		log.Fatal(err)
	}
	for e := range onA {
		fmt.Println(e.Header().Key)
	}
	// Output:
	// default/cache
	// default/web
}

// Conditions on several indexes combine. A page begins behind the last key of the previous one.
func ExampleSnapshot_Select() {
	s := store.New(store.Options{})
	byName := func(e *store.Entry) ([]string, error) { return []string{e.Header().Name[:1]}, nil }
	if err := s.AddIndex("initial", store.IndexFunc(byName)); err != nil {
		log.Fatal(err)
	}
	txn := s.Begin()
	for i, name := range []string{"adam", "anna", "bert", "cleo", "carl"} {
		txn.Put(pod(name, fmt.Sprint(i+1), "node-a"))
	}
	txn.Commit()

	q := store.Query{Where: store.Or(store.Is("initial", "a"), store.Is("initial", "c"))}
	for page := 1; page <= 2; page++ {
		found, err := s.Snapshot().Select(q)
		if err != nil {
			log.Fatal(err)
		}
		n := 0
		for e := range found {
			fmt.Println("page", page, e.Header().Name)
			q.After = e.Header().Key
			if n++; n == 2 {
				break
			}
		}
	}
	// Output:
	// page 1 adam
	// page 1 anna
	// page 2 carl
	// page 2 cleo
}
