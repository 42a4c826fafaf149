package store_test

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/delta"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// report checks that changes follow the previous ones, and hands them to the handlers.
func (m *model) report(changes store.Changes) {
	seen := map[object.Key]bool{}
	for c := range changes.All() {
		if !c.Old.Same(m.reported[c.Key]) {
			m.t.Fatalf("%s: Old is not what was reported last", c.Key)
		}
		if seen[c.Key] {
			m.t.Fatalf("%s changed twice in one commit", c.Key)
		}
		seen[c.Key] = true
		checkOrder(m.t, c)
		ended, complete := c.Ended()
		if !complete {
			maps.DeleteFunc(m.went, func(_ types.UID, key object.Key) bool { return key == c.Key })
		}
		for _, uid := range ended {
			delete(m.went, uid)
		}
		for _, h := range m.handlers {
			for _, uid := range ended {
				h.owed[uid] = c.Key
			}
		}
		if m.reported[c.Key] = c.New; c.New == nil {
			delete(m.reported, c.Key)
		} else {
			for _, h := range m.handlers {
				delete(h.owed, c.New.UID()) // a restored server may bring it back
			}
		}
		for _, h := range m.handlers {
			h.queue.Push(c)
		}
	}
	got := map[object.Key]*store.Entry{}
	for e := range m.store.Snapshot().All() {
		got[e.Header().Key] = e
	}
	if !maps.EqualFunc(got, m.reported, (*store.Entry).Same) {
		m.t.Fatalf("the store holds %d objects, reported were %d, or others", len(got), len(m.reported))
	}
}

// check compares the store with the server after everything has arrived.
func (m *model) check() {
	snap := m.store.Snapshot()
	hasSecond := store.HasIndex(snap, "second")
	byApp := map[string][]object.Key{}
	if m.connected {
		if snap.Len() != len(m.live) {
			m.t.Fatalf("%d objects, the server has %d", snap.Len(), len(m.live))
		}
		for k, want := range m.live {
			e, err := snap.Get(k)
			if err != nil || e.Header().UID != want.Header().UID || e.Header().ResourceVersion != want.Header().ResourceVersion {
				m.t.Fatalf("%s: %v, want %s@%s", k, err, want.Header().UID, want.Header().ResourceVersion)
			}
		}
	}
	for e := range snap.All() {
		byApp[e.Header().Labels["app"]] = append(byApp[e.Header().Labels["app"]], e.Header().Key)
	}
	for _, name := range []string{"app", "second"} {
		if name == "second" && !hasSecond {
			continue
		}
		values, err := snap.IndexValues(name)
		if err != nil {
			m.t.Fatal(err)
		}
		if got, want := slices.Collect(values), slices.Sorted(maps.Keys(byApp)); !slices.Equal(got, want) {
			m.t.Fatalf("values of index %s: %v, want %v", name, got, want)
		}
		for app, want := range byApp {
			seq, err := snap.Index(name, app)
			if err != nil {
				m.t.Fatal(err)
			}
			var got []object.Key
			for e := range seq {
				got = append(got, e.Header().Key)
			}
			if !slices.Equal(got, want) {
				m.t.Fatalf("index %s of %q: %v, want %v", name, app, got, want)
			}
		}
	}
}

// settle delivers everything: then the store equals the server's state, and so does the view of
// each handler.
func (m *model) settle() {
	for !m.connected {
		if !m.listing {
			m.beginList()
		}
		m.readList()
	}
	m.consume()
	for i, h := range m.handlers {
		h.drain()
		if !maps.EqualFunc(h.shown, m.reported, (*store.Entry).Same) {
			m.t.Fatalf("handler %d was shown %d objects, there are %d, or others", i, len(h.shown), len(m.reported))
		}
		for uid, key := range h.owed {
			m.t.Fatalf("handler %d got no report of the end of %s %s", i, key, uid)
		}
	}
}

// handler takes from a queue and checks each change.
type handler struct {
	t     *rapid.T
	queue *delta.Queue
	shown map[object.Key]*store.Entry
	owed  map[types.UID]object.Key // incarnations that ended and were not reported to it yet
}

func (h *handler) drain() {
	for h.next() {
	}
}

func (h *handler) next() bool {
	if d := h.queue.Stats().Depth; d > 12 {
		h.t.Fatalf("%d slots for 12 keys", d)
	}
	if h.queue.Stats().Depth == 0 {
		return false
	}
	item, err := h.queue.Next(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	c := item.Change
	if !c.Old.Same(h.shown[c.Key]) {
		h.t.Fatalf("%s: Old is not what the handler was shown last", c.Key)
	}
	checkOrder(h.t, c)
	ended, complete := c.Ended()
	if !complete {
		maps.DeleteFunc(h.owed, func(_ types.UID, key object.Key) bool { return key == c.Key })
	}
	for _, uid := range ended {
		if h.owed[uid] != c.Key {
			h.t.Fatalf("%s: the end of %s is reported, and was reported before, or it lives", c.Key, uid)
		}
		delete(h.owed, uid)
	}
	if h.shown[c.Key] = c.New; c.New == nil {
		delete(h.shown, c.Key)
	}
	return true
}

// checkOrder checks that a change has a state, never goes back, and reports a difference.
func checkOrder(t *rapid.T, c store.Change) {
	is := c.New
	if is == nil {
		if is = c.Last; is == nil {
			t.Fatalf("%s went without a final state", c.Key)
		}
	}
	if c.Old == nil || c.Old.Header().UID != is.Header().UID || c.Reset {
		return
	}
	order, ok := object.CompareVersions(is.Header().ResourceVersion, c.Old.Header().ResourceVersion)
	switch {
	case !ok || order < 0:
		t.Fatalf("%s went back", c.Key)
	case order == 0 && !c.Resync && !c.Missed:
		t.Fatalf("%s is reported and did not change", c.Key)
	}
}
