package delta

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// showItem writes what a handler is told: "a: u1@1 → u1@2", "a: u1@1 → gone u1@3".
func showItem(i Item) string {
	if i.Mark {
		return "mark"
	}
	id := func(s *store.Entry) string {
		if s == nil {
			return "-"
		}
		return fmt.Sprintf("%s@%s", s.UID(), s.ResourceVersion())
	}
	c := i.Change
	s := fmt.Sprintf("%s: %s > %s", c.Key, id(c.Old), id(c.New))
	if c.Last != nil {
		s += " last " + id(c.Last)
	}
	s += showUnseen(c.Unseen)
	for _, f := range []struct {
		set  bool
		name string
	}{{c.Initial, "initial"}, {c.Missed, "missed"}, {c.Resync, "resync"}, {c.Reset, "reset"}} {
		if f.set {
			s += " " + f.name
		}
	}
	return s
}

// showUnseen writes incarnations as " after u1 u2", and those that are counted only as " after 3+u4".
func showUnseen(in *object.Incarnations) string {
	if in == nil {
		return ""
	}
	s := " after "
	if in.More > 0 {
		s += fmt.Sprintf("%d+", in.More)
	}
	return s + strings.Trim(fmt.Sprint(in.UIDs), "[]")
}

// st makes the state of an object: st("a", "u1", 3).
func st(name, uid string, version int) *store.Entry {
	return store.Rejected(object.Header{Key: object.Key{Name: name}, UID: types.UID(uid), ResourceVersion: fmt.Sprint(version)}, nil)
}

func drain(b *core) string {
	var out []string
	for {
		i, ok := b.next()
		if !ok {
			return strings.Join(out, ", ")
		}
		out = append(out, showItem(i))
	}
}

func TestBacklogMerges(t *testing.T) {
	a1, a2, a3, a4 := st("a", "u1", 1), st("a", "u1", 2), st("a", "u1", 3), st("a", "u2", 4)
	a5 := st("a", "u3", 5)
	gone := func(uids ...types.UID) *object.Incarnations { return &object.Incarnations{UIDs: uids} }
	k := a1.Key()
	type change = store.Change
	for _, test := range []struct {
		name    string
		changes []change
		want    string
	}{
		{"add, update", []change{{Key: k, New: a1}, {Key: k, Old: a1, New: a2}}, "a: - > u1@2"},
		{"add of the first list, update", []change{{Key: k, New: a1, Initial: true}, {Key: k, Old: a1, New: a2}}, "a: - > u1@2 initial"},
		{"update, update", []change{{Key: k, Old: a1, New: a2}, {Key: k, Old: a2, New: a3}}, "a: u1@1 > u1@3"},
		{"update, delete", []change{{Key: k, Old: a1, New: a2}, {Key: k, Old: a2, Last: a3}}, "a: u1@1 > - last u1@3"},
		{"update, missed delete", []change{{Key: k, Old: a1, New: a2}, {Key: k, Old: a2, Last: a2, Missed: true}}, "a: u1@1 > - last u1@2 missed"},
		{"delete, add: two uids", []change{{Key: k, Old: a1, Last: a2, Missed: true}, {Key: k, New: a4}}, "a: u1@1 > u2@4"},
		{"add, delete: came and went", []change{{Key: k, New: a1}, {Key: k, Old: a1, Last: a2}}, "a: - > - last u1@2"},
		{"of the first list, and went", []change{{Key: k, New: a1, Initial: true}, {Key: k, Old: a1, Last: a2}}, "a: - > - last u1@2 initial"},
		{"came and went, add", []change{{Key: k, Last: a2, Initial: true}, {Key: k, New: a4}}, "a: - > u2@4 after u1"},
		{"came and went, twice", []change{{Key: k, Last: a2}, {Key: k, Last: a4}}, "a: - > - last u2@4 after u1"},
		{"three uids", []change{{Key: k, Old: a1, New: a4}, {Key: k, Old: a4, New: a5}}, "a: u1@1 > u3@5 after u2"},
		{"three uids, each told", []change{{Key: k, Old: a1, Last: a2}, {Key: k, New: a4}, {Key: k, Old: a4, Last: a4}, {Key: k, New: a5}}, "a: u1@1 > u3@5 after u2"},
		{"two uids, and went", []change{{Key: k, Old: a1, New: a4}, {Key: k, Old: a4, Last: a4}}, "a: u1@1 > - last u2@4"},
		{"two uids, and a third went", []change{{Key: k, Old: a1, New: a4}, {Key: k, Old: a4, Last: a5}}, "a: u1@1 > - last u3@5 after u2"},
		{"unseen before and after", []change{{Key: k, Old: a1, New: a4, Unseen: gone("x", "y")}, {Key: k, Old: a4, New: a5, Unseen: gone("z")}}, "a: u1@1 > u3@5 after x y u2 z"},
		{"unseen, resync", []change{{Key: k, Old: a1, New: a4, Unseen: gone("x")}, {Key: k, Old: a4, New: a4, Resync: true}}, "a: u1@1 > u2@4 after x"},
		{"resync", []change{{Key: k, Old: a1, New: a1, Resync: true}, {Key: k, Old: a1, New: a1, Resync: true}}, "a: u1@1 > u1@1 resync"},
		{"resync, update", []change{{Key: k, Old: a1, New: a1, Resync: true}, {Key: k, Old: a1, New: a2}}, "a: u1@1 > u1@2"},
		{"resync, delete", []change{{Key: k, Old: a1, New: a1, Resync: true}, {Key: k, Old: a1, Last: a2}}, "a: u1@1 > - last u1@2"},
		{"update, resync", []change{{Key: k, Old: a1, New: a2}, {Key: k, Old: a2, New: a2, Resync: true}}, "a: u1@1 > u1@2"},
		{"add, resync", []change{{Key: k, New: a2}, {Key: k, Old: a2, New: a2, Resync: true}}, "a: - > u1@2"},
		{"reset, update", []change{{Key: k, Old: a2, New: a1, Reset: true}, {Key: k, Old: a1, New: a3}}, "a: u1@2 > u1@3 reset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := new(core)
			for _, c := range test.changes {
				b.push(time.Unix(0, 0), c)
			}
			if d := b.figures(time.Unix(0, 0)).Depth; d != 1 {
				t.Errorf("depth %d, want one slot", d)
			}
			if got := drain(b); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestBacklogKeepsArrivalOrderAndMarks(t *testing.T) {
	b := new(core)
	now := time.Unix(0, 0)
	b.push(now, store.Change{Key: object.Key{Name: "b"}, New: st("b", "u1", 1)})
	b.push(now, store.Change{Key: object.Key{Name: "a"}, New: st("a", "u2", 2)})
	b.mark(now)
	b.push(now, store.Change{Key: object.Key{Name: "c"}, New: st("c", "u3", 3)})
	b.push(now, store.Change{Key: object.Key{Name: "b"}, Old: st("b", "u1", 1), New: st("b", "u1", 4)})
	if got, want := drain(b), "b: - > u1@4, a: - > u2@2, mark, c: - > u3@3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What a handler was shown is the Old of what it is told next, also when it takes between pushes.
func TestBacklogOldIsWhatWasShown(t *testing.T) {
	b := new(core)
	now, k := time.Unix(0, 0), object.Key{Name: "a"}
	a1, a2, a3 := st("a", "u1", 1), st("a", "u1", 2), st("a", "u1", 3)
	b.push(now, store.Change{Key: k, New: a1})
	if got := drain(b); got != "a: - > u1@1" {
		t.Fatal(got)
	}
	b.push(now, store.Change{Key: k, Old: a1, New: a2})
	b.push(now, store.Change{Key: k, Old: a2, New: a3})
	if got := drain(b); got != "a: u1@1 > u1@3" {
		t.Fatal(got)
	}
}

// Contract 8: what came and went unseen is remembered within a bound, the latest of it.
func TestBacklogForgetsTheLongDead(t *testing.T) {
	now := time.Unix(0, 0)
	comeAndGo := func(b *core, i int) {
		s := st(fmt.Sprint("dead-", i), fmt.Sprint(i), i)
		b.push(now, store.Change{Key: s.Key(), New: s})
		b.push(now, store.Change{Key: s.Key(), Old: s, Last: s})
	}
	for _, test := range []struct{ live, keep int }{{0, minDead}, {10, minDead}, {minDead + 100, minDead + 100}} {
		b := new(core)
		for i := range test.live {
			s := st(fmt.Sprint("live-", i), "u", i)
			b.push(now, store.Change{Key: s.Key(), New: s})
		}
		const extra = 1000
		for i := range test.keep + extra {
			comeAndGo(b, i)
		}
		got := b.figures(now)
		if got.Dropped != extra || got.Depth != test.live+test.keep {
			t.Errorf("%d live: dropped %d, depth %d; want %d, %d", test.live, got.Dropped, got.Depth, extra, test.live+test.keep)
		}
		for range test.live {
			b.next()
		}
		if i, _ := b.next(); i.Change.Key.Name != fmt.Sprint("dead-", extra) {
			t.Errorf("%d live: the oldest remembered is %s, want dead-%d", test.live, i.Change.Key, extra)
		}
	}
}

// A live object that waits is never dropped for the sake of the dead, and one that comes back is
// not dead.
func TestBacklogKeepsWhatCameBack(t *testing.T) {
	b := new(core)
	now := time.Unix(0, 0)
	back := st("back", "u1", 1)
	b.push(now, store.Change{Key: back.Key(), Last: back})
	again := st("back", "u2", 2)
	b.push(now, store.Change{Key: back.Key(), New: again})
	for i := range 2 * minDead {
		s := st(fmt.Sprint(i), fmt.Sprint(i), i)
		b.push(now, store.Change{Key: s.Key(), Last: s})
	}
	if i, _ := b.next(); showItem(i) != "back: - > u2@2 after u1" {
		t.Errorf("first is %s", showItem(i))
	}
	if got := b.figures(now); got.Dropped != minDead || got.Depth != minDead {
		t.Errorf("dropped %d, depth %d", got.Dropped, got.Depth)
	}
}
