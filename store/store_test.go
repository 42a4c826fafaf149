package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

var pods = schema.GroupResource{Resource: "pods"}

// entry returns an entry made from wire bytes.
func entry(h object.Header) *Entry {
	m := metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Thing"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: h.Namespace, Name: h.Name, UID: h.UID, ResourceVersion: h.ResourceVersion, Generation: h.Generation,
			Labels: h.Labels, Annotations: h.Annotations,
		},
	}
	for _, o := range h.Owners {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{
			APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, UID: o.UID, Controller: &o.Controller,
		})
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	e, err := NewEntry(wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: b})
	if err != nil {
		panic(err)
	}
	return e
}

var things = &wire.Kind{GVK: schema.GroupVersionKind{Version: "v1", Kind: "Thing"}}

// at makes an entry from a short form: "ns/name u1@3 app=web tier=db", or "ns/name u1@3 !" for a
// rejected one.
func at(s string) *Entry {
	words := strings.Fields(s)
	ns, name, ok := strings.Cut(words[0], "/")
	if !ok {
		ns, name = "", words[0]
	}
	h := object.Header{Key: object.Key{Namespace: ns, Name: name}, Labels: map[string]string{}}
	for _, w := range words[1:] {
		if w == "!" {
			return Rejected(h, errTest)
		}
		if uid, version, ok := strings.Cut(w, "@"); ok {
			h.UID, h.ResourceVersion = types.UID(uid), version
		} else {
			k, v, _ := strings.Cut(w, "=")
			h.Labels[k] = v
		}
	}
	return entry(h)
}

var errTest = errors.New("cannot be read")

func id(e *Entry) string {
	switch {
	case e == nil:
		return "-"
	case e.rejected != nil:
		return fmt.Sprintf("%s@%s!", e.UID(), e.ResourceVersion())
	}
	return fmt.Sprintf("%s@%s", e.UID(), e.ResourceVersion())
}

// show writes changes as "a: u1@1 > u1@2 reset, b: u2@1 > - last u2@1 missed".
func show(changes Changes) string {
	var out []string
	for c := range changes.All() {
		s := fmt.Sprintf("%s: %s > %s", c.Key, id(c.Old), id(c.New))
		if c.Last != nil {
			s += " last " + id(c.Last)
		}
		if c.Unseen != nil {
			s += " after " + strings.Trim(fmt.Sprint(c.Unseen.UIDs), "[]")
		}
		for _, f := range []struct {
			set  bool
			name string
		}{{c.Initial, "initial"}, {c.Missed, "missed"}, {c.Resync, "resync"}, {c.Reset, "reset"}} {
			if f.set {
				s += " " + f.name
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// do runs a script of words on a transaction: "+ENTRY" Put, "-ENTRY" Delete with a final state,
// "x KEY" Delete without, "[" Replace, "[!" Reset, "]" Sweep.
func do(t *Txn, script ...string) {
	for _, s := range script {
		switch {
		case s == "[":
			t.Replace()
		case s == "[!":
			t.Reset()
		case s == "]":
			t.Sweep()
		case s[0] == '+':
			t.Put(at(s[1:]))
		case s[0] == '-':
			e := at(s[1:])
			t.Delete(e.key, e)
		case s[0] == 'x':
			t.Delete(at(s[1:]).key, nil)
		default:
			panic(s)
		}
	}
}

// commit runs a script in its own transaction.
func commit(s *Store, script ...string) Changes {
	t := s.Begin()
	do(t, script...)
	return t.Commit()
}

func names(seq func(func(*Entry) bool)) string {
	var out []string
	for e := range seq {
		name := e.key.String()
		if e.rejected != nil {
			name += "!"
		}
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

func TestCommitReportsChanges(t *testing.T) {
	first := []string{"[", "+a u1@1", "+b u2@2", "]"}
	for _, test := range []struct {
		name   string
		script []string
		want   string
		stale  uint64
	}{
		{"add", []string{"+c u3@3"}, "c: - > u3@3", 0},
		{"update", []string{"+a u1@3"}, "a: u1@1 > u1@3", 0},
		{"two updates are one change", []string{"+a u1@3", "+a u1@4"}, "a: u1@1 > u1@4", 0},
		{"same version", []string{"+a u1@1"}, "", 0},
		{"older version", []string{"+b u2@1"}, "", 1},
		{"versions that are no numbers", []string{"+a u1@x", "+a u1@w"}, "a: u1@1 > u1@w", 0},
		{"no version", []string{"+a u1@", "+a u1@"}, "a: u1@1 > u1@", 0},
		{"another incarnation, even with a smaller version", []string{"+b u9@1"}, "b: u2@2 > u9@1", 0},
		{"delete", []string{"-a u1@5"}, "a: u1@1 > - last u1@5", 0},
		{"delete unseen", []string{"xa"}, "a: u1@1 > - last u1@1 missed", 0},
		{"delete of nothing", []string{"xz"}, "", 0},
		{"update, delete", []string{"+a u1@3", "-a u1@5"}, "a: u1@1 > - last u1@5", 0},
		{"delete, add", []string{"-a u1@5", "+a u3@6"}, "a: u1@1 > u3@6", 0},
		{"delete, stale update", []string{"-a u1@5", "+a u1@4"}, "a: u1@1 > - last u1@5", 1},
		{"delete twice", []string{"-a u1@5", "-a u1@5"}, "a: u1@1 > - last u1@5", 0},
		{"delete of a later incarnation", []string{"-a u3@5"}, "a: u1@1 > - last u3@5", 0},
		{"delete of an earlier incarnation", []string{"-b u0@1"}, "", 1},
		{"delete, by a server that does not count deletions", []string{"-b u2@1"}, "b: u2@2 > - last u2@1", 0},
		{"came and went", []string{"+c u3@3", "-c u3@4"}, "c: - > - last u3@4", 0},
		{"came and went before the store saw it", []string{"-c u3@4"}, "c: - > - last u3@4", 0},
		{"the same beside a newer key", []string{"+a u1@9", "-c u3@4"}, "a: u1@1 > u1@9, c: - > - last u3@4", 0},
		{"an old deletion", []string{"-c u3@2"}, "", 1},
		{"came and went, then came", []string{"-c u3@4", "+c u4@5"}, "c: - > u4@5 after u3", 0},
		{"three incarnations", []string{"-a u1@5", "+a u3@6", "-a u3@7", "+a u4@8"}, "a: u1@1 > u4@8 after u3", 0},
		{"three incarnations, no deletion seen", []string{"+a u3@6", "+a u4@8"}, "a: u1@1 > u4@8 after u3", 0},
		{"the third one deleted", []string{"+a u3@6", "-a u4@8"}, "a: u1@1 > - last u4@8 after u3", 0},
		{"came and went, three times", []string{"-c u3@4", "-c u4@5", "+c u5@6", "-c u5@7"}, "c: - > - last u5@7 after u3 u4", 0},
		{"in the order of first touch", []string{"+b u2@3", "+a u1@4", "+b u2@5"}, "b: u2@2 > u2@5, a: u1@1 > u1@4", 0},
		{"relist", []string{"[", "+b u2@2", "+a u1@3", "]"}, "a: u1@1 > u1@3", 0},
		{"relist: deletions first, then in list order", []string{"[", "+d u4@4", "+c u3@3", "+a u1@5", "]"},
			"b: u2@2 > - last u2@2 missed, d: - > u4@4, c: - > u3@3, a: u1@1 > u1@5", 0},
		{"relist: other incarnation", []string{"[", "+a u3@3", "+b u2@2", "]"}, "a: u1@1 > u3@3", 0},
		{"relist: an older state still counts as listed", []string{"[", "+a u1@1", "+b u2@1", "]"}, "", 1},
		{"relist: listed, then deleted", []string{"[", "+a u1@1", "-a u1@5", "+b u2@2", "]"}, "a: u1@1 > - last u1@5", 0},
		{"relist: a key twice", []string{"[", "+a u1@4", "+a u1@3", "+b u2@2", "]"}, "a: u1@1 > u1@4", 1},
		{"relist: empty", []string{"[", "]"}, "a: u1@1 > - last u1@1 missed, b: u2@2 > - last u2@2 missed", 0},
		{"relist not swept", []string{"[", "+c u3@3"}, "", 0},
		{"sweep of no relist", []string{"+c u3@3", "]"}, "c: - > u3@3", 0},
		{"reset: all is reported, and goes back", []string{"[!", "+a u1@1", "+b u2@1", "]"},
			"a: u1@1 > u1@1 reset, b: u2@2 > u2@1 reset", 0},
		{"reset: unlisted objects are deleted", []string{"[!", "+b u2@1", "]"},
			"a: u1@1 > - last u1@1 missed reset, b: u2@2 > u2@1 reset", 0},
		{"reset: within the list versions count", []string{"[!", "+a u1@1", "+b u2@1", "+b u2@0", "]"},
			"a: u1@1 > u1@1 reset, b: u2@2 > u2@1 reset", 1},
		{"reset: what follows is part of it", []string{"[!", "+a u1@1", "+b u2@1", "]", "+a u1@7"},
			"a: u1@1 > u1@7 reset, b: u2@2 > u2@1 reset", 0},
		{"rejected", []string{"+a u1@3 !"}, "a: u1@1 > u1@3!", 0},
		{"rejected without a version", []string{"+a @ !"}, "a: u1@1 > @!", 0},
		{"rejected, then usable in the same version", []string{"+a u1@3 !", "+a u1@3"}, "a: u1@1 > u1@3", 0},
		{"usable, then rejected in the same version", []string{"+a u1@1 !"}, "", 0},
		{"rejected, deleted", []string{"+a u1@3 !", "-a u1@5"}, "a: u1@1 > - last u1@5", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New(Checked(Options{Resource: pods}))
			if got := show(commit(s, first...)); got != "a: - > u1@1 initial, b: - > u2@2 initial" {
				t.Fatal(got)
			}
			if got := show(commit(s, test.script...)); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", strings.Join(test.script, " "), got, test.want)
			}
			if got := s.Stats().StaleIgnored; got != test.stale {
				t.Errorf("%d stale, want %d", got, test.stale)
			}
		})
	}
}

// After the server went back, old events are judged by its new history.
func TestResetForgetsTheOldPast(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "[", "+a u1@100", "+b u9@100", "]")
	commit(s, "[!", "+a u1@50", "]")
	if got := show(commit(s, "-c u2@60")); got != "c: - > - last u2@60" {
		t.Errorf("got %q", got)
	}
	if got := show(commit(s, "+a u1@51")); got != "a: u1@50 > u1@51" {
		t.Errorf("got %q", got)
	}
}

func TestOnlyTheFirstCompleteListIsInitial(t *testing.T) {
	s := New(Checked(Options{}))
	if s.Snapshot().Synced() {
		t.Error("synced before any list")
	}
	txn := s.Begin()
	do(txn, "[", "+a u1@1")
	txn.Discard()
	if s.Snapshot().Synced() || s.Snapshot().Len() != 0 {
		t.Error("a list that broke off left a trace")
	}
	if got := show(commit(s, "[", "+a u1@1", "]")); got != "a: - > u1@1 initial" {
		t.Error(got)
	}
	if !s.Snapshot().Synced() {
		t.Error("not synced")
	}
	if got := show(commit(s, "[", "+a u1@1", "+b u2@2", "]")); got != "b: - > u2@2" {
		t.Error(got)
	}
}

func TestAnEmptyFirstListSyncs(t *testing.T) {
	s := New(Checked(Options{}))
	if got := commit(s, "[", "]"); got.Len() != 0 || !s.Snapshot().Synced() {
		t.Errorf("changes %s, synced %t", show(got), s.Snapshot().Synced())
	}
}

// Readers see the state before a relist until it is complete.
func TestReadersSeeARelistAtOnce(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "[", "+a u1@1", "]")
	before := s.Snapshot()
	txn := s.Begin()
	do(txn, "[", "+b u2@2", "+a u1@3")
	if s.Snapshot() != before || names(before.All()) != "a" {
		t.Error("an open relist shows")
	}
	do(txn, "]")
	if s.Snapshot() != before {
		t.Error("a relist shows before Commit")
	}
	txn.Commit()
	if got := names(s.Snapshot().All()); got != "a b" {
		t.Errorf("after Commit: %s", got)
	}
	if got := names(before.All()); got != "a" {
		t.Errorf("an old snapshot changed: %s", got)
	}
}

func TestUnchangedPutPublishesNothing(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "[", "+a u1@1", "]")
	before := s.Snapshot()
	commit(s, "+a u1@1", "-z u9@1")
	if s.Snapshot() != before {
		t.Error("a new snapshot for nothing")
	}
}

func TestAnEndedTxnDoesNothing(t *testing.T) {
	s := New(Checked(Options{}))
	txn := s.Begin()
	do(txn, "+a u1@1")
	txn.Commit()
	do(txn, "+b u2@2", "xa", "[", "]")
	if got := txn.Commit(); got.Len() != 0 {
		t.Error(show(got))
	}
	txn.Discard()
	if got := names(s.Snapshot().All()); got != "a" {
		t.Error(got)
	}
}

func TestReadsAgreeWithTheEntries(t *testing.T) {
	s := New(Checked(Options{Resource: pods}))
	commit(s, "[", "+b/y u1@1", "+a/x u2@1", "+b/x u3@1", "+c u4@1", "+b/z u5@2 !", "]")
	snap := s.Snapshot()
	if got := names(snap.All()); got != "c a/x b/x b/y b/z!" {
		t.Errorf("All: %s", got)
	}
	for ns, want := range map[string]string{"a": "a/x", "b": "b/x b/y b/z!", "": "c", "aa": "", "z": ""} {
		if got := names(snap.InNamespace(ns)); got != want {
			t.Errorf("InNamespace(%q): %s, want %s", ns, got, want)
		}
	}
	for range snap.All() {
		break // an iteration may stop at any point
	}
	if e, err := snap.Get(object.Key{Namespace: "b", Name: "y"}); err != nil || id(e) != "u1@1" {
		t.Errorf("Get: %s, %v", id(e), err)
	}

	_, err := snap.Get(object.Key{Namespace: "b", Name: "none"})
	var status *apierrors.StatusError
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.ErrStatus.Details.Name != "none" || status.ErrStatus.Details.Kind != "pods" {
		t.Errorf("Get of nothing: %v", err)
	}

	_, err = snap.Get(object.Key{Namespace: "b", Name: "z"})
	var rejected *RejectedError
	if !errors.As(err, &rejected) || rejected.Key.String() != "b/z" || rejected.Resource != pods || !errors.Is(err, errTest) {
		t.Errorf("Get of a rejected object: %v", err)
	}
	if got, want := err.Error(), `pods "b/z" is rejected by the cache: cannot be read`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if e, ok := snap.Lookup(object.Key{Namespace: "b", Name: "z"}); !ok || e.Err() == nil {
		t.Error("Lookup does not return a rejected object")
	}
	if got := s.Stats(); got.Objects != 5 || got.Rejected != 1 || got.Bytes != bytesOf(snap) || got.Held < got.OffHeap || got.Held == 0 {
		t.Errorf("%+v", got)
	}
}

func bytesOf(s *Snapshot) (n int64) {
	for e := range s.All() {
		n += int64(len(e.Raw().Bytes))
	}
	return n
}

func TestClusterScopedKeysHaveNoNamespace(t *testing.T) {
	s := New(Checked(Options{ClusterScoped: true}))
	commit(s, "+node u1@1")
	if _, err := s.Snapshot().Get(object.Key{Namespace: "any", Name: "node"}); err != nil {
		t.Error(err)
	}
}

func TestStatsFollowEveryChange(t *testing.T) {
	s := New(Checked(Options{}))
	commit(s, "+a u1@1", "+b u2@2 !")
	commit(s, "+a u1@3 longer=label", "+b u2@4")
	commit(s, "xa")
	if got := s.Stats(); got.Objects != 1 || got.Bytes != bytesOf(s.Snapshot()) || got.Rejected != 0 {
		t.Errorf("%+v", got)
	}
	commit(s, "xb")
	if got := s.Stats(); got.Objects != 0 || got.Bytes != 0 || got.Templates != 0 {
		t.Errorf("%+v", got)
	}
}

func TestPagesContinueBehindAKey(t *testing.T) {
	s := New(Checked(Options{}))
	if err := s.AddIndex("app", ByLabel("app")); err != nil {
		t.Fatal(err)
	}
	txn := s.Begin()
	var all, inB, web []string
	for i := range 200 {
		e := at(fmt.Sprintf("%c/p%03d u%d@%d app=%s", 'a'+i%3, i, i, i+1, []string{"web", "db"}[i%2]))
		txn.Put(e)
	}
	txn.Commit()
	snap := s.Snapshot()
	for e := range snap.All() {
		k := e.key.String()
		all = append(all, k)
		if e.key.Namespace == "b" {
			inB = append(inB, k)
			if e.Header().Labels["app"] == "web" {
				web = append(web, k)
			}
		}
	}
	for _, test := range []struct {
		q    Query
		want []string
	}{
		{Query{}, all},
		{Query{Namespace: "b"}, inB},
		{Query{Namespace: "b", Where: Is("app", "web")}, web},
		{Query{Namespace: "b", Where: And(Is("app", "web"), And())}, web},
		{Query{Where: And()}, all},
	} {
		for _, size := range []int{1, 7, 64, 1000} {
			var got []string
			for q := test.q; ; {
				page, err := snap.Select(q)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for e := range page {
					got = append(got, e.key.String())
					q.After = e.key
					if n++; n == size {
						break
					}
				}
				if n < size {
					break
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%+v in pages of %d: %d entries, want %d", test.q, size, len(got), len(test.want))
			}
		}
	}
}
