package informer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/delta"
	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// TestCallsOfAHandlerFitItsView plays changes, some to states that cannot be decoded, through a store and a
// backlog into a typed handler, which builds up a view. Every call must fit the view: an add of
// what it lacks, an update from the very version that it has, a delete of what it has. In the end
// the view is what there is, except for objects whose present state cannot be decoded.
func TestCallsOfAHandlerFitItsView(t *testing.T) {
	kind := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap")}
	rapid.Check(t, func(t *rapid.T) {
		in := &Informer{
			o: Options{Kind: Kind{GVK: kind.GVK}}, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			store: store.New(store.Options{}), rejected: make(map[object.Key]*rejected),
		}
		backlog := delta.New()
		view := map[string]string{}  // name → version, as the handler was told
		truth := map[string]string{} // of what is there and can be decoded
		bad := map[string]bool{}     // what is there and cannot be
		h := &typed[corev1.ConfigMap, *corev1.ConfigMap]{in: in, held: map[object.Key]*store.Entry{}}
		h.h = Handler[corev1.ConfigMap]{
			OnAdd: func(o *corev1.ConfigMap, _ bool) {
				if was, ok := view[o.Name]; ok {
					t.Fatalf("add of %s, which is in the view at %s", o.Name, was)
				}
				view[o.Name] = o.ResourceVersion
			},
			OnUpdate: func(old, new *corev1.ConfigMap) {
				if view[new.Name] != old.ResourceVersion {
					t.Fatalf("update of %s from %s, the view has %q", new.Name, old.ResourceVersion, view[new.Name])
				}
				view[new.Name] = new.ResourceVersion
			},
			OnDelete: func(last *corev1.ConfigMap, _ bool) {
				if _, ok := view[last.Name]; !ok {
					t.Fatalf("delete of %s, which is not in the view", last.Name)
				}
				delete(view, last.Name)
			},
		}
		version := 0
		entry := func(name, uid string, good bool) *store.Entry {
			version++
			data := map[bool]string{true: `{}`, false: `7`}[good]
			e, err := store.NewEntry(wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"uid":%q,"resourceVersion":"%d"},"data":%s}`,
				name, uid, version, data)})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		apply := func(step func(*store.Txn)) {
			txn := in.store.Begin()
			step(txn)
			changes := txn.Commit()
			for c := range changes.All() {
				in.updateRejected(c)
				backlog.Push(c)
			}
		}
		uidOf := func(name string) string {
			if e, ok := in.store.Snapshot().Lookup(object.Key{Name: name}); ok {
				return string(e.Header().UID)
			}
			return ""
		}
		show := func() {
			if backlog.Stats().Depth > 0 {
				item, err := backlog.Next(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				came, went, two := splitChange(item.Change)
				if h.deliver(came); two {
					h.deliver(went)
				}
			}
		}
		names := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				name, good := names.Draw(t, "name"), rapid.Bool().Draw(t, "good")
				uid := uidOf(name)
				if uid == "" || rapid.IntRange(0, 4).Draw(t, "another") == 0 {
					uid = strconv.Itoa(version + 1)
				}
				e := entry(name, uid, good)
				apply(func(txn *store.Txn) { txn.Put(e) })
				delete(truth, name)
				if bad[name] = !good; good {
					truth[name] = e.Header().ResourceVersion
				}
			},
			"delete": func(t *rapid.T) {
				name := names.Draw(t, "name")
				last := entry(name, uidOf(name), rapid.Bool().Draw(t, "good"))
				apply(func(txn *store.Txn) {
					if rapid.Bool().Draw(t, "missed") {
						last = nil
					}
					txn.Delete(object.Key{Name: name}, last)
				})
				delete(truth, name)
				delete(bad, name)
			},
			"resync": func(t *rapid.T) {
				for e := range in.store.Snapshot().All() {
					backlog.Push(store.Change{Key: e.Header().Key, Old: e, New: e, Resync: true})
				}
			},
			"show": func(*rapid.T) { show() },
		})
		for backlog.Stats().Depth > 0 {
			show()
		}
		for name, was := range view {
			if !bad[name] && truth[name] != was {
				t.Fatalf("the view has %s at %s, there is %q", name, was, truth[name])
			}
		}
		for name := range truth {
			if _, ok := view[name]; !ok {
				t.Fatalf("the handler was never told of %s", name)
			}
		}
		for _, p := range in.Rejected() {
			if !bad[p.Key.Name] {
				t.Fatalf("%s is rejected, and is not bad", p.Key.Name)
			}
		}
		for key := range h.held {
			if !bad[key.Name] {
				t.Fatalf("%s is held, and is not bad", key.Name)
			}
		}
	})
}
