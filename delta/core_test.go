package delta

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/object"
)

// state is a Value as small as can be.
type state object.Header

func (s *state) Header() *object.Header { return (*object.Header)(s) }

func (s *state) SameUID(other *state) bool { return s.Header().Same(other.Header()) }

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
func st(name, uid string, version int) *state {
	return &state{Key: object.Key{Name: name}, UID: types.UID(uid), ResourceVersion: fmt.Sprint(version)}
}

// show writes deltas as one line: "Added a u1@3, Deleted b u2@4 came".
func show(ds []Delta[*state]) string {
	var out []string
	for _, d := range ds {
		s := d.Type.String()
		if d.Key.Name != "" {
			s += " " + d.Key.Name
		}
		if d.Value != nil {
			s += fmt.Sprintf(" %s@%s", d.Value.UID, d.Value.ResourceVersion)
		}
		s += showUnseen(d.Unseen)
		if d.Came {
			s += " came"
		}
		if d.Reset {
			s += " reset"
		}
		if d.Version != "" {
			s += " " + d.Version
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// do feeds a core from a script of words: "+a:u1@3" Added, "~a:u1@4" Updated, "-a:u1@5" Deleted,
// "=a:u1@3" Replaced, "?a" Sync, "[" and "[!" BeginReplace (with reset), "]9" EndReplace at 9,
// "x" AbortReplace, "T" TakeAll. It returns what was taken last, or is pending.
func do(c *Core[*state], script string) string {
	now := time.Unix(0, 0)
	taken := ""
	for word := range strings.FieldsSeq(script) {
		rest := word[1:]
		switch word[0] {
		case '[':
			c.BeginReplace(now, rest == "!")
		case ']':
			c.EndReplace(now, rest)
		case 'x':
			c.AbortReplace(now)
		case 'T':
			taken += show(c.TakeAll(nil)) + " | "
		case '?':
			c.Sync(now, object.Key{Name: rest})
		default:
			t := map[byte]Type{'+': Added, '~': Updated, '-': Deleted, '=': Replaced}[word[0]]
			name, id, _ := strings.Cut(rest, ":")
			uid, version, _ := strings.Cut(id, "@")
			s := st(name, uid, 0)
			s.ResourceVersion = version
			c.Push(now, t, s)
		}
	}
	return taken + show(c.TakeAll(nil))
}

func TestCoreMerges(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"nothing", "", ""},
		{"arrival order", "+b:u1@1 +a:u2@2 ~b:u1@3", "Added b u1@3, Added a u2@2"},
		{"add, update", "+a:u1@1 ~a:u1@2", "Added a u1@2"},
		{"update, update", "~a:u1@1 ~a:u1@2", "Updated a u1@2"},
		{"came and went", "+a:u1@1 ~a:u1@2 -a:u1@3", "Deleted a u1@3 came"},
		{"the same deletion twice", "+a:u1@1 -a:u1@3 -a:u1@3", "Deleted a u1@3 came"},
		{"update, delete", "~a:u1@1 -a:u1@3", "Deleted a u1@3"},
		{"delete, add: another incarnation", "-a:u1@3 +a:u2@4", "Updated a u2@4 after u1"},
		{"came, went, came", "+a:u1@1 -a:u1@3 +a:u2@4", "Added a u2@4 after u1"},
		{"went, came, went", "-a:u1@3 +a:u2@4 -a:u2@5", "Deleted a u2@5 after u1"},
		{"went, came, went, came", "-a:u1@3 +a:u2@4 -a:u2@5 +a:u3@6 ~a:u3@7", "Updated a u3@7 after u1 u2"},
		{"another one, whose going was not seen", "~a:u1@3 ~a:u2@4", "Updated a u2@4 after u1"},
		{"one that cannot be told by a uid", "~a:u1@3 ~a:@4 ~a:u1@5", "Updated a u1@5"},
		{"out of sight and back", "-a:u1@3 +a:u1@4", "Updated a u1@4"},
		{"stale update", "~a:u1@5 ~a:u1@4", "Updated a u1@5"},
		{"stale update after a delete", "-a:u1@5 ~a:u1@4", "Deleted a u1@5"},
		{"a uid once deleted is gone, whatever the version", "~a:u1@5 -a:u1@4", "Deleted a u1@4"},
		{"stale delete of the incarnation before", "~a:u2@5 -a:u1@4", "Updated a u2@5"},
		{"versions that are no numbers", "~a:u1@y ~a:u1@x", "Updated a u1@x"},
		{"by number, not by letter", "~a:u1@9 ~a:u1@10", "Updated a u1@10"},
		{"sync", "?a ?a", "Sync a"},
		{"sync, update", "?a ~a:u1@1", "Updated a u1@1"},
		{"update, sync", "-a:u1@1 ?a", "Deleted a u1@1"},
		{"taken, then anew", "+a:u1@1 T ~a:u1@2", "Added a u1@1 | Updated a u1@2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := do(new(Core[*state]), test.script); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.script, got, test.want)
			}
		})
	}
}

func TestCoreBarriers(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"a list", "[ =a:u1@1 =b:u2@2 ]9", "BeginReplace, Replaced a u1@1, Replaced b u2@2, EndReplace 9"},
		{"an empty list", "[ ]9", "BeginReplace, EndReplace 9"},
		{"no merge into the list or out of it", "~a:u1@1 [ =a:u1@1 ]9 ~a:u1@10",
			"Updated a u1@1, BeginReplace, Replaced a u1@1, EndReplace 9, Updated a u1@10"},
		{"one key twice in a list", "[ =a:u1@1 =a:u1@3 =a:u1@2 ]9", "BeginReplace, Replaced a u1@3, EndReplace 9"},
		{"events within a streaming list", "[ =a:u1@1 -a:u1@2 =b:u2@1 ~b:u2@3 ]9",
			"BeginReplace, Deleted a u1@2, Replaced b u2@3, EndReplace 9"},
		{"listed, gone, listed", "[ =a:u1@1 -a:u1@2 =a:u2@3 ]9", "BeginReplace, Replaced a u2@3 after u1, EndReplace 9"},
		{"came and went, listed", "[ +a:u1@1 -a:u1@2 =a:u2@3 ]9", "BeginReplace, Replaced a u2@3 after u1, EndReplace 9"},
		{"streamed while it is read", "[ =a:u1@1 T =b:u2@2 T ]9",
			"BeginReplace, Replaced a u1@1 | Replaced b u2@2 | EndReplace 9"},
		{"broken off before anyone saw it", "~a:u1@1 [ =a:u1@1 =b:u2@2 x ~a:u1@3", "Updated a u1@3"},
		{"broken off halfway", "[ =a:u1@1 T =b:u2@2 x ~a:u1@3",
			"BeginReplace, Replaced a u1@1 | AbortReplace, Updated a u1@3"},
		{"broken off halfway, again", "[ T x [ =a:u1@1 x ~b:u2@3",
			"BeginReplace | AbortReplace, Updated b u2@3"},
		{"begun again without an end", "[ =a:u1@1 [ =b:u2@2 ]9", "BeginReplace, Replaced b u2@2, EndReplace 9"},
		{"end and abort of nothing", "]9 x ~a:u1@1", "Updated a u1@1"},
		{"a later list makes one before it superfluous", "~a:u1@1 [ =a:u1@1 ]9 ~b:u2@10 [ =b:u2@10 ]11",
			"Updated a u1@1, BeginReplace, Replaced b u2@10, EndReplace 11"},
		{"but not until it is whole", "[ =a:u1@1 ]9 ~b:u2@10 [ =b:u2@10 x",
			"BeginReplace, Replaced a u1@1, EndReplace 9, Updated b u2@10"},
		{"nor one that was taken in part", "[ T =a:u1@1 ]9 [ =b:u2@10 ]11",
			"BeginReplace | Replaced a u1@1, EndReplace 9, BeginReplace, Replaced b u2@10, EndReplace 11"},
		{"a reset is not forgotten with its list", "[! =a:u1@1 ]9 [ =b:u2@10 ]11",
			"BeginReplace reset, Replaced b u2@10, EndReplace 11"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := do(new(Core[*state]), test.script); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.script, got, test.want)
			}
		})
	}
}

// Contract 8: a consumer that is stuck costs a few slots for each key, whatever happens.
func TestCoreIsBounded(t *testing.T) {
	const keys = 10
	c := new(Core[*state])
	now := time.Unix(0, 0)
	for round := range 1000 {
		for i := range keys {
			c.Push(now, Updated, st(fmt.Sprint(i), "u", round))
		}
		c.BeginReplace(now, false)
		for i := range keys {
			c.Push(now, Replaced, st(fmt.Sprint(i), "u", round))
		}
		if round%3 == 0 {
			c.AbortReplace(now)
		} else {
			c.EndReplace(now, "1")
		}
		if d := c.Stats(now).Depth; d > 4*keys+4 {
			t.Fatalf("round %d: %d slots for %d keys", round, d, keys)
		}
	}
}

func TestCoreStats(t *testing.T) {
	c := new(Core[*state])
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	c.Push(at(1), Updated, st("a", "u", 1))
	c.Push(at(2), Updated, st("a", "u", 3))
	c.Push(at(3), Updated, st("a", "u", 2))
	c.Push(at(4), Updated, st("b", "v", 1))
	c.Push(at(4), Sync, st("c", "v", 1)) // no such push
	want := Stats{Depth: 2, Oldest: 9 * time.Second, Pushed: 4, Merged: 1, Stale: 1}
	if got := c.Stats(at(10)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	c.TakeAll(nil)
	if got := c.Stats(at(10)); got.Depth != 0 || got.Oldest != 0 {
		t.Errorf("after a take: %+v", got)
	}
}
