package informer

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// TestSlowHandlerGetsMergedChanges offers changes to a handler before it takes the first, and records its calls.
func TestSlowHandlerGetsMergedChanges(t *testing.T) {
	kind := &wire.Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap")}
	entry := func(version int, data string) *store.Entry {
		e, err := store.NewEntry(wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u","resourceVersion":"%d","labels":{"l":"%[1]d"}},"data":%s}`,
			version, data)})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	const fine, bad = `{}`, `7`
	key := object.Key{Name: "a"}
	change := func(old, new, last *store.Entry) store.Change {
		return store.Change{Key: key, Old: old, New: new, Last: last}
	}
	v1, v2, v3 := entry(1, fine), entry(2, fine), entry(3, fine)
	bad2, bad3 := entry(2, bad), entry(3, bad)
	const all = "add update delete"
	for _, tt := range []struct {
		name    string
		has     string // the callbacks of the handler
		breaks  string // what its OnAdd does
		changes []store.Change
		want    []string
	}{
		{"came and went", all, "", []store.Change{change(nil, v1, nil), change(v1, nil, v2)}, []string{"add 2", "delete 2"}},
		{"came and went, as the store says", all, "", []store.Change{change(nil, nil, v2)}, []string{"add 2", "delete 2"}},
		{"came, went, came", all, "", []store.Change{change(nil, nil, v2), change(nil, v3, nil)}, []string{"add 3"}},
		{"came and went, bad at last", all, "", []store.Change{change(nil, v1, nil), change(v1, nil, bad2)}, nil},
		{"the add panics", all, "panic", []store.Change{change(nil, nil, v2)}, []string{"add 2", "delete 2"}},
		{"removed in the add", all, "remove", []store.Change{change(nil, nil, v2)}, []string{"add 2"}},
		{"no OnUpdate, bad, gone", "add delete", "",
			[]store.Change{change(nil, v1, nil), {}, change(v1, bad2, nil), {}, change(bad2, nil, bad3)},
			[]string{"add 1", "delete 3"}},
		{"bad, gone", all, "",
			[]store.Change{change(nil, v1, nil), {}, change(v1, bad2, nil), {}, change(bad2, nil, bad3)},
			[]string{"add 1", "delete 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := &Informer{
				o: Options{Kind: Kind{GVK: kind.GVK}}, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
				store: store.New(store.Options{}), rejected: make(map[object.Key]*rejected),
			}
			var got []string
			var r *Registration
			note := func(what string, o *corev1.ConfigMap) {
				got = append(got, what+" "+o.ResourceVersion)
				if o.Name != "a" || o.UID != "u" || o.Labels["l"] != o.ResourceVersion {
					t.Errorf("%s of %v", what, o.ObjectMeta)
				}
			}
			h := Handler[corev1.ConfigMap]{
				OnAdd: func(o *corev1.ConfigMap, _ bool) {
					note("add", o)
					switch tt.breaks {
					case "panic":
						panic("add")
					case "remove":
						r.Remove()
					}
				},
				OnDelete: func(o *corev1.ConfigMap, _ bool) { note("delete", o) },
			}
			if tt.has == all {
				h.OnUpdate = func(_, o *corev1.ConfigMap) { note("update", o) }
			}
			to := &typed[corev1.ConfigMap, *corev1.ConfigMap]{in: in, h: h, held: map[object.Key]*store.Entry{}}
			r = newRegistration(in, "h", to.deliver)
			r.backlog = delta.New()
			ctx, cancel := context.WithCancel(t.Context())
			look := func() {
				for r.backlog.Stats().Depth > 0 {
					item, err := r.backlog.Next(ctx)
					if err != nil || !r.deliverItem(item) {
						return
					}
				}
			}
			for _, c := range tt.changes {
				if c == (store.Change{}) {
					look()
					continue
				}
				r.offer(c)
			}
			look()
			cancel()
			if !slices.Equal(got, tt.want) {
				t.Errorf("told %v, want %v", got, tt.want)
			}
		})
	}
}
