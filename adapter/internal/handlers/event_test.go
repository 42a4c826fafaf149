package handlers

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// st makes a state: "u1@3". A state that ends with "!" cannot be decoded.
func st(text string) *store.Entry {
	if text == "" {
		return nil
	}
	id, bad := strings.CutSuffix(text, "!")
	uid, version, _ := strings.Cut(id, "@")
	cm := testobj.ConfigMap("ns/a", testobj.UID(types.UID(uid)), testobj.Version(version))
	if bad {
		cm.Annotations = map[string]string{"bad": "yes"}
	}
	return testobj.Entry(cm)
}

func gone(uids ...types.UID) *object.Incarnations { return &object.Incarnations{UIDs: uids} }

// change makes a change of a key: its old, new and last state.
func change(old, new, last string, unseen ...types.UID) store.Change {
	c := store.Change{Key: object.Key{Namespace: "ns", Name: "a"}, Old: st(old), New: st(new), Last: st(last)}
	if len(unseen) > 0 {
		c.Unseen = gone(unseen...)
	}
	return c
}

func with(c store.Change, f func(*store.Change)) store.Change {
	f(&c)
	return c
}

func initial(c *store.Change) { c.Initial = true }
func missed(c *store.Change)  { c.Missed = true }
func resync(c *store.Change)  { c.Resync = true }

// decoding returns a decoded that decodes ConfigMaps and counts that.
func decoding(count *int) *decoded {
	return newDecoded(func() (object.Object, error) { return &corev1.ConfigMap{}, nil }, func(e *store.Entry, into object.Object) error {
		*count++
		if _, bad := e.Annotation("bad"); bad {
			return errors.New("bad")
		}
		return e.Decode(into)
	})
}

// told records calls as text: "add u1@1", "update u1@1 u1@2", "delete u1@2", "tombstone u1@2".
type told struct{ lines []string }

func id(o any) string {
	cm := o.(*corev1.ConfigMap)
	if cm.Kind != "" {
		return "with a kind"
	}
	return fmt.Sprintf("%s@%s", cm.UID, cm.ResourceVersion)
}

func (h *told) say(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

func (h *told) OnAdd(o any, isInInitialList bool) {
	if isInInitialList {
		h.say("initial %s", id(o))
		return
	}
	h.say("add %s", id(o))
}
func (h *told) OnUpdate(old, new any) { h.say("update %s %s", id(old), id(new)) }
func (h *told) OnDelete(o any) {
	if t, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
		if t.Key != "ns/a" {
			h.say("key %s", t.Key)
		}
		h.say("tombstone %s", id(t.Obj))
		return
	}
	h.say("delete %s", id(o))
}

func (h *told) calls() *calls {
	return &calls{handler: h, call: func(_ object.Key, f func()) { f() }}
}

// tell pushes changes into a backlog, and delivers all of them.
func tell(limit int, changes ...store.Change) string {
	decodes := 0
	d, b, h := decoding(&decodes), &backlog{limit: limit}, &told{}
	calls := h.calls()
	for _, c := range changes {
		b.push(newEvent(d, c))
	}
	for e := b.next(); e != nil; e = b.next() {
		calls.deliver(e)
	}
	return strings.Join(h.lines, ", ")
}

func TestEventsOfOneKey(t *testing.T) {
	for _, tc := range []struct {
		name    string
		changes []store.Change
		each    string // what a handler that keeps up is told
		merged  string // what one that does not is told; empty: the same
	}{
		{"add", []store.Change{change("", "u1@1", "")}, "add u1@1", ""},
		{"first list", []store.Change{with(change("", "u1@1", ""), initial)}, "initial u1@1", ""},
		{"first list, update", []store.Change{with(change("", "u1@1", ""), initial), change("u1@1", "u1@2", "")},
			"initial u1@1, update u1@1 u1@2", ""},
		{"updates", []store.Change{change("u1@1", "u1@2", ""), change("u1@2", "u1@3", "")},
			"update u1@1 u1@2, update u1@2 u1@3", "update u1@1 u1@3"},
		{"update, delete", []store.Change{change("u1@1", "u1@2", ""), change("u1@2", "", "u1@3")},
			"update u1@1 u1@2, delete u1@3", "delete u1@3"},
		{"missed delete", []store.Change{with(change("u1@1", "", "u1@1"), missed)}, "tombstone u1@1", ""},
		{"add, delete", []store.Change{change("", "u1@1", ""), change("u1@1", "", "u1@2")},
			"add u1@1, delete u1@2", "add u1@2, delete u1@2"},
		{"it came and went", []store.Change{change("", "", "u1@2")}, "add u1@2, delete u1@2", ""},
		{"replaced", []store.Change{change("u1@1", "u2@2", "")}, "tombstone u1@1, add u2@2", ""},
		{"replaced, and some between", []store.Change{change("u1@1", "u4@9", "", "u2", "u3")},
			"tombstone u1@1, tombstone u2@9, tombstone u3@9, add u4@9", ""},
		{"replaced, and the next went", []store.Change{change("u1@1", "", "u3@9", "u2")},
			"tombstone u1@1, tombstone u2@9, add u3@9, delete u3@9", ""},
		{"three incarnations", []store.Change{change("u1@1", "", "u1@2"), change("", "u2@3", ""), change("u2@3", "", "u2@4"), change("", "u3@5", "")},
			"delete u1@2, add u2@3, delete u2@4, add u3@5", "tombstone u1@1, tombstone u2@5, add u3@5"},
		{"many incarnations", []store.Change{change("", "", "u2@2", "u1"), change("", "", "u4@4", "u3")},
			"tombstone u1@2, add u2@2, delete u2@2, tombstone u3@4, add u4@4, delete u4@4",
			"tombstone u1@4, tombstone u2@4, tombstone u3@4, add u4@4, delete u4@4"},
		{"resync", []store.Change{with(change("u1@1", "u1@1", ""), resync)}, "update u1@1 u1@1", ""},
		{"update, resync", []store.Change{change("u1@1", "u1@2", ""), with(change("u1@2", "u1@2", ""), resync)}, "update u1@1 u1@2", ""},
		{"resync, update", []store.Change{with(change("u1@1", "u1@1", ""), resync), change("u1@1", "u1@2", "")},
			"update u1@1 u1@1, update u1@1 u1@2", "update u1@1 u1@2"},
		{"undecodable, then good", []store.Change{change("u1@1", "u1@2!", ""), change("u1@2!", "u1@3", "")},
			"update u1@1 u1@3", ""},
		{"undecodable from the start", []store.Change{change("", "u1@2!", ""), change("u1@2!", "u1@3", "")}, "add u1@3", ""},
		{"undecodable, resync", []store.Change{change("u1@1", "u1@2!", ""), change("u1@2!", "u1@3", ""), with(change("u1@3", "u1@3", ""), resync)},
			"update u1@1 u1@3", ""},
		{"undecodable, gone", []store.Change{change("u1@1", "u1@2!", ""), change("u1@2!", "", "u1@3!")}, "tombstone u1@1", ""},
		{"undecodable incarnation between", []store.Change{change("u1@1", "u2@2!", ""), change("u2@2!", "u3@3", "")},
			"tombstone u1@1, tombstone u2@3, add u3@3", ""},
		{"undecodable came and went", []store.Change{change("", "", "u1@2!")}, "tombstone u1@2", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tell(100, tc.changes...); got != tc.each {
				t.Errorf("told %s, want %s", got, tc.each)
			}
			want := tc.merged
			if want == "" {
				want = tc.each
			}
			if got := tell(1, tc.changes...); got != want {
				t.Errorf("a late handler is told %s, want %s", got, want)
			}
		})
	}
}

// Handlers share what is decoded, and the old state of an update is not decoded again.
func TestOneDecodeForAllHandlers(t *testing.T) {
	decodes := 0
	d := decoding(&decodes)
	var all []*event
	c := change("", "u1@1", "")
	for range 100 {
		all = append(all, newEvent(d, c))
	}
	next := change("u1@1", "u1@2", "")
	for range 100 {
		all = append(all, newEvent(d, next))
	}
	h := &told{}
	calls := h.calls()
	for _, e := range all {
		calls.deliver(e)
	}
	if decodes != 2 || len(h.lines) != 200 {
		t.Errorf("%d decodes for %d calls", decodes, len(h.lines))
	}
}

// What an index function got is what handlers get: one decode for both.
func TestOneDecodeForIndexesAndHandlers(t *testing.T) {
	for _, share := range []bool{true, false} {
		decodes := 0
		d := decoding(&decodes)
		c := change("", "u1@1", "")
		var objs []object.Object
		for range 3 {
			o, err := d.index(c.New, share)
			if err != nil || id(o) != "u1@1" {
				t.Fatal(o, err)
			}
			objs = append(objs, o)
		}
		s := newEvent(d, change("", "u1@1", "")).new // another entry of the same state
		got, err := s.object()
		if err != nil || (got == objs[0]) != share || (decodes == 0) != share {
			t.Errorf("share %v: the same object: %v, %d decodes by a handler", share, got == objs[0], decodes)
		}
		if s.indexed {
			t.Error("the entry is that of the index function")
		}
		if next := newEvent(d, change("u1@1", "u1@2", "")); id(must(next.new.object())) != "u1@2" {
			t.Error("a later state is that of the index")
		}
	}
}

// What nobody uses is dropped: the table of states is bounded by the states in use.
func TestDecodedForgets(t *testing.T) {
	decodes := 0
	d := decoding(&decodes)
	kept := map[int]*state{}
	for i := range 20 * minStates {
		e := testobj.Entry(testobj.ConfigMap(fmt.Sprint("ns/", i), testobj.UID("u"), testobj.Version("1")))
		if s := d.state(e, true); i%minStates == 0 {
			kept[i] = s
		}
		if i%minStates == minStates/2 {
			collect()
		}
	}
	if n := len(d.states); n > 4*minStates {
		t.Errorf("%d states are known", n)
	}
	for i, s := range kept {
		e := testobj.Entry(testobj.ConfigMap(fmt.Sprint("ns/", i), testobj.UID("u"), testobj.Version("1")))
		if d.state(e, true) != s {
			t.Errorf("state %d is in use, and forgotten", i)
		}
	}
}

// A backlog up to its limit keeps each event; beyond it, one for each key.
func TestBacklogIsBounded(t *testing.T) {
	decodes := 0
	d, b := decoding(&decodes), &backlog{limit: 10}
	for i := range 1000 {
		b.push(newEvent(d, change("u1@"+fmt.Sprint(i+1), "u1@"+fmt.Sprint(i+2), "")))
	}
	b.push(&event{mark: true})
	if b.len() != 11 || b.merged != 990 {
		t.Errorf("%d events, %d merged", b.len(), b.merged)
	}
	last := ""
	for e := b.next(); !e.mark; e = b.next() {
		if was := e.old.entry.ResourceVersion(); last != "" && was != last {
			t.Errorf("an update from %s follows one to %s", was, last)
		}
		last = e.new.entry.ResourceVersion()
	}
	if last != "1001" || b.next() != nil || len(b.last) != 0 {
		t.Errorf("the last state is %s, %d keys", last, len(b.last))
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// collect frees what nobody uses.
func collect() {
	runtime.GC()
	runtime.GC()
}
