package store

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// byApps indexes an entry under each part of its label app, which is separated by dots. It fails on
// "bad" and panics on "panic".
func byApps(e *Entry) ([]string, error) {
	app, ok := e.Header().Labels["app"]
	switch {
	case !ok:
		return nil, nil
	case app == "bad":
		return nil, errTest
	case app == "panic":
		panic("no such app")
	}
	return strings.Split(app, "."), nil
}

func mustIndexFunc(t *testing.T, s *Store, name string, fn IndexFunc) {
	t.Helper()
	mustIndex(t, s, name, fn)
}

func mustIndex(t *testing.T, s *Store, name string, by Indexer) {
	t.Helper()
	if err := s.AddIndex(name, by); err != nil {
		t.Fatal(err)
	}
}

// under writes the content of an index: "db: a b; web: b".
func under(t *testing.T, snap *Snapshot, name string) string {
	t.Helper()
	values, err := snap.IndexValues(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for v := range values {
		seq, err := snap.Index(name, v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v+": "+names(seq))
	}
	return strings.Join(out, "; ")
}

func TestIndexFollowsItsObjects(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", IndexFunc(byApps))
	for _, step := range []struct{ script, want string }{
		{"+a u1@1 app=web", "web: a"},
		{"+b u2@2 app=web.db", "db: b; web: a b"},
		{"+a u1@3 app=web tier=x", "db: b; web: a b"},
		{"+b u2@4 app=db.cache.db.cache", "cache: b; db: b; web: a"},
		{"+a u1@5", "cache: b; db: b"},
		{"+b u2@6 app=cache", "cache: b"},
		{"-b u2@7", ""},
	} {
		commit(s, step.script)
		if got := under(t, s.Snapshot(), "app"); got != step.want {
			t.Errorf("%s: %q, want %q", step.script, got, step.want)
		}
	}
}

// An older snapshot has its own indexes.
func TestIndexBelongsToItsSnapshot(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", IndexFunc(byApps))
	commit(s, "+a u1@1 app=web", "+b u2@1 app=web")
	before := s.Snapshot()
	commit(s, "+a u1@2 app=db", "xb")
	if got := under(t, before, "app"); got != "web: a b" {
		t.Errorf("before: %s", got)
	}
	if got := under(t, s.Snapshot(), "app"); got != "db: a" {
		t.Errorf("after: %s", got)
	}
}

func TestIndexAddedLaterCoversAllObjects(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "[", "+a u1@1 app=web", "+b u2@2 app=db.web", "+c u3@3", "+d u4@4 !", "]")
	before := s.Snapshot()
	mustIndex(t, s, "app", IndexFunc(byApps))
	mustIndex(t, s, "app2", IndexFunc(byApps))
	for _, name := range []string{"app", "app2"} {
		if got, want := under(t, s.Snapshot(), name), "db: b d!; web: a b d!"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if before.index("app") != nil {
		t.Error("an old snapshot has the new index")
	}
	if !s.Snapshot().Synced() {
		t.Error("not synced any more")
	}
	commit(s, "+b u2@5 app=web", "+c u3@6 app=db")
	for _, name := range []string{"app", "app2"} {
		if got, want := under(t, s.Snapshot(), name), "db: c d!; web: a b d!"; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// An index added during a relist is in the state before it and in the one after it.
func TestIndexAddedDuringARelistIsInBothStates(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "[", "+a u1@1 app=web", "+b u2@2 app=db", "+bad u3@3 app=bad", "]")
	txn := s.Begin()
	do(txn, "[", "+a u1@4 app=db", "+c u5@5 app=web", "+bad u3@3 app=bad", "+worse u6@6 app=bad")
	mustIndex(t, s, "app", IndexFunc(byApps))
	if got, want := under(t, s.Snapshot(), "app"), "db: b bad!; web: a bad!"; got != want {
		t.Errorf("before: %s, want %s", got, want)
	}
	do(txn, "+d u6@6 app=web", "]")
	got := show(txn.Commit())
	want := "bad: u3@3 > u3@3!, b: u2@2 > - last u2@2 missed, a: u1@1 > u1@4, c: - > u5@5, worse: - > u6@6!, d: - > u6@6"
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if got, want := under(t, s.Snapshot(), "app"), "db: a bad! worse!; web: bad! c d worse!"; got != want {
		t.Errorf("after: %s, want %s", got, want)
	}
}

func TestRemovedIndexIsAddedAgainFromScratch(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", IndexFunc(byApps))
	commit(s, "+a u1@1 app=web")
	txn := s.Begin()
	do(txn, "+b u2@2 app=web")
	if err := s.RemoveIndex("app"); err != nil {
		t.Fatal(err)
	}
	do(txn, "+c u3@3 app=web")
	txn.Commit()
	if s.Snapshot().index("app") != nil {
		t.Error("still there")
	}
	mustIndexFunc(t, s, "app", func(e *Entry) ([]string, error) { return []string{e.key.Name}, nil })
	commit(s, "+a u1@4 app=web", "xb")
	if got, want := under(t, s.Snapshot(), "app"), "a: a; c: c"; got != want {
		t.Errorf("added again: %s, want %s", got, want)
	}
}

func TestUnknownAndTakenIndexesAreErrors(t *testing.T) {
	s := New(Checked(Options{Resource: pods}))
	mustIndex(t, s, "app", IndexFunc(byApps))
	snap := s.Snapshot()
	var exists *IndexExistsError
	if err := s.AddIndex("app", IndexFunc(byApps)); !errors.As(err, &exists) || exists.Index != "app" || exists.Resource != pods {
		t.Errorf("added twice: %v", err)
	}
	if err := s.AddIndex("", IndexFunc(byApps)); !errors.Is(err, ErrBadIndex) {
		t.Errorf("no name: %v", err)
	}
	if err := s.AddIndex("x", nil); !errors.Is(err, ErrBadIndex) {
		t.Errorf("no function: %v", err)
	}
	_, byIndex := snap.Index("none", "v")
	_, byWhere := snap.Select(Query{Where: And(Is("app", "x"), Or(nil, Is("none", "v")))})
	_, byValues := snap.IndexValues("none")
	for what, err := range map[string]error{"Index": byIndex, "Where": byWhere, "IndexValues": byValues, "RemoveIndex": s.RemoveIndex("none")} {
		var unknown *UnknownIndexError
		if !errors.As(err, &unknown) || unknown.Index != "none" || unknown.Resource != pods {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An object on which an index function fails is rejected. No index has it, so every list by an index shows it.
func TestFailingIndexRejectsTheObject(t *testing.T) {
	for _, how := range []string{"bad", "panic"} {
		t.Run(how, func(t *testing.T) {
			s := New(Checked(Options{Resource: pods}))
			mustIndexFunc(t, s, "name", func(e *Entry) ([]string, error) { return []string{e.key.Name}, nil })
			mustIndex(t, s, "app", IndexFunc(byApps))
			commit(s, "+a u1@1 app=web", "+b u2@2 app=web")
			if got, want := show(commit(s, "+a u1@3 app="+how)), "a: u1@1 > u1@3!"; got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			snap := s.Snapshot()
			if got := under(t, snap, "app") + " / " + under(t, snap, "name"); got != "web: a! b / b: a! b" {
				t.Errorf("indexes: %s", got)
			}
			_, err := snap.Get(object.Key{Name: "a"})
			var rejected *RejectedError
			var index *IndexError
			if !errors.As(err, &rejected) || !errors.As(err, &index) || index.Index != "app" {
				t.Fatalf("Get: %v", err)
			}
			var panicked *run.PanicError
			if errors.As(err, &panicked) != (how == "panic") || errors.Is(err, errTest) != (how == "bad") {
				t.Errorf("cause: %v", err)
			}
			if got := show(commit(s, "[", "+a u1@3 app="+how, "+b u2@2 app=web", "]")); got != "" {
				t.Errorf("reported again by a relist: %s", got)
			}
			if got, want := show(commit(s, "+a u1@4 app=db")), "a: u1@3! > u1@4"; got != want {
				t.Errorf("mended: %s, want %s", got, want)
			}
			if got := under(t, s.Snapshot(), "app"); got != "db: a; web: b" {
				t.Errorf("mended: %s", got)
			}
		})
	}
}

func TestFailingIndexAddedLaterRejectsObjects(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndexFunc(t, s, "name", func(e *Entry) ([]string, error) { return []string{e.key.Name}, nil })
	commit(s, "+a u1@1 app=bad", "+b u2@2 app=web")
	mustIndex(t, s, "app", IndexFunc(byApps))
	if e, _ := s.Snapshot().Lookup(object.Key{Name: "a"}); e.Err() == nil {
		t.Error("not rejected at once")
	}
	if got := under(t, s.Snapshot(), "name"); got != "b: a! b" {
		t.Errorf("still in another index: %s", got)
	}
	if got, want := show(commit(s)), "a: u1@1 > u1@1!"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.Stats().Rejected; got != 1 {
		t.Errorf("%d rejected", got)
	}
}

// A transaction's Change of a key follows the one of AddIndex.
func TestChangeOfATxnFollowsTheOneOfAddIndex(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "+a u1@1 app=bad")
	txn := s.Begin()
	do(txn, "+a u1@2 app=bad", "+a u1@3 app=web")
	mustIndex(t, s, "app", IndexFunc(byApps))
	if got, want := show(txn.Commit()), "a: u1@1 > u1@1!, a: u1@1! > u1@3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConditionsSelectInKeyOrder(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", IndexFunc(byApps))
	mustIndex(t, s, "tier", ByLabel("tier"))
	commit(s, "+n/a u1@1 app=web tier=front", "+n/b u2@1 app=web.db tier=back", "+m/c u3@1 app=db tier=back",
		"+m/d u4@1 tier=front", "+m/e u5@1", "+m/f u6@1 ! app=web")
	for _, test := range []struct {
		cond Cond
		want string
	}{
		{nil, "m/c m/d m/e m/f! n/a n/b"},
		{Is("app", "web"), "m/f! n/a n/b"},
		{Is("app", "none"), "m/f!"},
		{Is("app", ""), "m/f!"},
		{And(), "m/c m/d m/e m/f! n/a n/b"},
		{Or(), ""},
		{And(Or()), ""},
		{Or(And()), "m/c m/d m/e m/f! n/a n/b"},
		{And(nil, Is("app", "db")), "m/c m/f! n/b"},
		{And(Is("app", "web"), Is("app", "db")), "m/f! n/b"},
		{And(Is("app", "web"), Is("tier", "front")), "m/f! n/a"},
		{Or(Is("app", "web"), Is("app", "db")), "m/c m/f! n/a n/b"},
		{Or(Is("app", "web"), Is("tier", "front"), Is("app", "none")), "m/d m/f! n/a n/b"},
		{And(Or(Is("app", "web"), Is("app", "db")), Or(Is("tier", "back"), Is("tier", "front"))), "m/c m/f! n/a n/b"},
		{And(Is("tier", "back"), Or(Is("app", "none"), And(Is("app", "db"), Is("app", "web")))), "m/f! n/b"},
	} {
		seq, err := s.Snapshot().Select(Query{Where: test.cond})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // an iterator can run twice
			if got := names(seq); got != test.want {
				t.Errorf("%+v: %s, want %s", test.cond, got, test.want)
			}
		}
	}
}

// An And costs as much as its smallest part: the others seek.
func TestAndCostsAsMuchAsItsSmallestPart(t *testing.T) {
	s := New(Checked(Options{}))
	mustIndex(t, s, "app", IndexFunc(byApps))
	txn := s.Begin()
	each := short(500, 5000)
	var want []string
	for i := range 4 * each {
		app := "web"
		if i%each == 77 {
			app = "web.rare"
			want = append(want, fmt.Sprintf("p%05d", i))
		}
		txn.Put(at(fmt.Sprintf("n/p%05d u%d@%d app=%s", i, i, i+1, app)))
	}
	txn.Commit()
	snap := s.Snapshot()
	for _, cond := range []Cond{And(Is("app", "web"), Is("app", "rare")), And(Is("app", "rare"), Is("app", "web"))} {
		steps := 0
		counted := counting{cond.open(&snap.state), &steps}
		if all, ok := counted.cursor.(*all); ok {
			for i := range all.of {
				all.of[i] = counting{all.of[i], &steps}
			}
		}
		var got []string
		for from, past := []byte(nil), false; ; past = true {
			slot, ok := counted.seek(from, past)
			if !ok {
				break
			}
			from = snap.key(nil, slot)
			got = append(got, keyString(from).Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", cond, got, want)
		}
		if steps > 40 {
			t.Errorf("%v: %d steps for 4 of %d", cond, steps, 4*each)
		}
	}
}

type counting struct {
	cursor
	n *int
}

func (c counting) seek(from []byte, past bool) (uint32, bool) {
	*c.n++
	return c.cursor.seek(from, past)
}

// ByLabel indexes objects by the value of a label. Objects without the label are not in it.
func ByLabel(label string) Indexer {
	return builtin{labelsPart, func(e *Entry) ([]string, error) {
		value, ok := e.Label(label)
		if !ok {
			return nil, nil
		}
		return []string{value}, nil
	}}
}

// counted is an Indexer that depends on some parts, and counts its calls.
func counted(parts partSet, asked *int) Indexer {
	return builtin{parts, func(e *Entry) ([]string, error) {
		*asked++
		return byApps(e)
	}}
}

// byNamespace indexes objects by namespace.
func byNamespace() Indexer {
	return builtin{0, func(e *Entry) ([]string, error) {
		if e.key.Namespace == "" {
			return nil, nil
		}
		return []string{e.key.Namespace}, nil
	}}
}

// TestIndexOfAnUnchangedPartIsNotAskedAgain: an index of an unchanged part is not asked again, and
// keeps its values.
func TestIndexOfAnUnchangedPartIsNotAskedAgain(t *testing.T) {
	s := New(Checked(Options{}))
	var labels, both, any int
	mustIndex(t, s, "labels", counted(labelsPart, &labels))
	mustIndex(t, s, "both", counted(annotationsPart|labelsPart, &both))
	mustIndex(t, s, "any", counted(0, &any))
	for _, step := range []struct {
		ops         string
		labels, any int // number of calls
		want        string
	}{
		{"+a u1@1 app=web", 1, 1, "web: a"},
		{"+a u1@2 app=web", 1, 2, "web: a"},
		{"+a u1@3 app=db; +b u2@4 app=db", 3, 4, "db: a b"},
		{"+a u1@5 app=db", 3, 5, "db: a b"},
		{"-a u1@6; +a u3@7 app=db", 4, 6, "db: a b"}, // another incarnation
		{"+a u3@8 app=bad", 5, 6, "db: a! b"},
		{"+a u3@9 app=bad", 6, 6, "db: a! b"}, // a rejected entry has no parts to compare
		{"+a u3@10 app=web", 7, 7, "db: b; web: a"},
		{"+a u3@11 app=web", 7, 8, "db: b; web: a"},
	} {
		commit(s, strings.Split(step.ops, "; ")...)
		for _, index := range []string{"labels", "both", "any"} {
			if got := under(t, s.Snapshot(), index); got != step.want {
				t.Errorf("%s: %s: %q, not %q", step.ops, index, got, step.want)
			}
		}
		if labels != step.labels || any != step.any {
			t.Errorf("%s: asked %d times, %d for all, not %d, %d", step.ops, labels, any, step.labels, step.any)
		}
	}
}

// TestPartsOfPaths: an index by a path is asked again where one of these parts has changed.
func TestPartsOfPaths(t *testing.T) {
	for path, want := range map[string]partSet{
		"spec.nodeName":                          specPart,
		"status.phase":                           specPart | statusPart,
		"metadata.labels[app]":                   labelsPart,
		"metadata.annotations[app]":              annotationsPart,
		"metadata.ownerReferences[*].uid":        ownersPart,
		"metadata.ownerReferences[*].name":       ownersPart,
		"metadata.ownerReferences[*].kind":       ownersPart,
		"metadata.ownerReferences[*].apiVersion": ownersPart,
		"metadata.ownerReferences[*].controller": 0, // its digest takes false for missing
		"metadata.name":                          0,
		"metadata.finalizers[*]":                 0,
		"kind":                                   0,
	} {
		p, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), path)
		if err != nil && path != "metadata.finalizers[*]" && path != "kind" {
			t.Fatal(err)
		} else if err != nil {
			if p, err = wire.CompilePath(nil, path); err != nil {
				t.Fatal(err)
			}
		}
		if got := partsOf(p); got != want {
			t.Errorf("%s: %b, want %b", path, got, want)
		}
	}
}

// TestOwnersArePartsOfAnObject: an index of the owners is asked again if one of them, or their order, has changed.
func TestOwnersArePartsOfAnObject(t *testing.T) {
	x, err := ByPath(nil, "metadata.ownerReferences[*].uid")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Checked(Options{}))
	asked, index := 0, x.(builtin)
	mustIndex(t, s, "owners", builtin{index.parts, func(e *Entry) ([]string, error) {
		asked++
		return index.IndexFunc(e)
	}})
	for i, step := range []struct {
		app    string
		owners []string
		asked  int
	}{{"a", []string{"x"}, 1}, {"b", []string{"x"}, 1}, {"b", []string{"x", "y"}, 2}, {"b", []string{"y", "x"}, 3}, {"c", []string{"y", "x"}, 3}, {"c", nil, 4}, {"d", nil, 4}} {
		h := object.Header{Key: object.Key{Namespace: "n", Name: "p"}, UID: "u", ResourceVersion: strconv.Itoa(i + 1), Labels: map[string]string{"app": step.app}}
		for _, uid := range step.owners {
			h.Owners = append(h.Owners, object.Owner{APIVersion: "v1", Kind: "Node", Name: "n-" + uid, UID: types.UID(uid)})
		}
		txn := s.Begin()
		txn.Put(entry(h))
		txn.Commit()
		if asked != step.asked {
			t.Errorf("%v: asked %d times, want %d", step, asked, step.asked)
		}
		for _, uid := range []string{"x", "y"} {
			seq, err := s.Snapshot().Index("owners", uid)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for range seq {
				n++
			}
			if want := strings.Count(strings.Join(step.owners, ""), uid); n != want {
				t.Errorf("%v: %d objects of owner %s, want %d", step, n, uid, want)
			}
		}
	}
}
