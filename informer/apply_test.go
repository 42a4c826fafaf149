package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
)

// rig is an informer without goroutines. Its methods are the updates of a reflector.
type rig struct {
	in   *Informer
	a    *applier
	told []string
	bad  []Problem
	busy bool // the applier has the write lock whenever the reader would take it
}

func (b *rig) Put(e *store.Entry)    { b.a.Apply(&reflector.Update{What: reflector.Put, Entry: e}) }
func (b *rig) Delete(e *store.Entry) { b.a.Apply(&reflector.Update{What: reflector.Delete, Entry: e}) }
func (b *rig) Replace()              { b.a.Apply(&reflector.Update{What: reflector.Replace}) }
func (b *rig) Sweep(version string) {
	b.a.Apply(&reflector.Update{What: reflector.Sweep, Version: version})
}
func (b *rig) Discard() { b.a.Apply(&reflector.Update{What: reflector.Discard}) }

func (b *rig) meanwhile(do func()) {
	if b.busy {
		b.a.writeLock.Lock()
		defer b.a.writeLock.Unlock()
	}
	do()
	b.a.Commit()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	b := &rig{}
	in, err := New(struct{ reflector.Source }{}, Options{
		Kind:      Kind{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap")},
		OnProblem: func(p Problem) { b.bad = append(b.bad, p) },
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.in, b.a = in, in.applier
	b.a.start()
	t.Cleanup(b.a.stop)
	if _, err := in.Subscribe("rig", func(c store.Change) {
		what := "add"
		switch {
		case c.Deleted():
			what = "delete"
		case c.Old != nil:
			what = "update"
		}
		b.told = append(b.told, fmt.Sprintf("%s %s%s", what, c.Key.Name, map[bool]string{true: " initial"}[c.Initial]))
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// apply applies what is pending, and returns what the source was told and the names that readers see.
func (b *rig) apply(t *testing.T) (told, seen string) {
	t.Helper()
	b.a.Commit()
	b.a.round()
	var names []string
	for e := range b.in.store.Snapshot().All() {
		names = append(names, e.Header().Name)
	}
	told, b.told = strings.Join(b.told, ", "), nil
	return told, strings.Join(names, " ")
}

func at(name, version string) *store.Entry {
	e, err := store.NewEntry(wire.Raw{Kind: &wire.Kind{}, Encoding: wire.JSON, Bytes: fmt.Appendf(nil,
		`{"metadata":{"name":%q,"uid":"uid","resourceVersion":%q}}`, name, version)})
	if err != nil {
		panic(err)
	}
	return e
}

// TestARelistIsSeenAtOnceOrNotAtAll: whatever batches it is taken in, and whoever applies it.
func TestARelistIsSeenAtOnceOrNotAtAll(t *testing.T) {
	t.Run("applied by the reader where it can be", func(t *testing.T) { relists(t, newRig(t)) })
	t.Run("applied by the applier", func(t *testing.T) {
		b := newRig(t)
		b.busy = true
		relists(t, b)
	})
}

func relists(t *testing.T, b *rig) {
	for _, step := range []struct {
		name       string
		do         func()
		told, seen string
		synced     bool
	}{
		{"a list begins", func() { b.Replace(); b.Put(at("a", "1")) }, "", "", false},
		{"goes on", func() { b.Put(at("b", "2")) }, "", "", false},
		{"breaks off", func() { b.Discard() }, "", "", false},
		{"another one", func() { b.Replace(); b.Put(at("b", "2")) }, "", "", false},
		{"is whole", func() { b.Put(at("c", "3")); b.Sweep("3") }, "add b initial, add c initial", "b c", true},
		{"live", func() { b.Put(at("a", "4")); b.Delete(at("b", "5")) }, "add a, delete b", "a c", true},
		{"live, then a relist begins", func() {
			b.Put(at("d", "6"))
			b.Replace()
			b.Put(at("d", "7"))
		}, "add d", "a c d", true},
		{"an object comes and goes meanwhile", func() { b.Put(at("e", "8")); b.Delete(at("e", "9")) }, "", "a c d", true},
		{"is whole, and then live", func() {
			b.Put(at("f", "10"))
			b.Sweep("10")
			b.Put(at("f", "11"))
		}, "delete e, delete a, delete c, update d, add f, update f", "d f", true},
		{"nothing", func() {}, "", "d f", true},
		{"the kind is not served any more", func() { b.Replace(); b.Sweep("") }, "delete d, delete f", "", true},
	} {
		b.meanwhile(step.do)
		told, seen := b.apply(t)
		if told != step.told || seen != step.seen || b.in.HasSynced() != step.synced {
			t.Errorf("%s: told %q, want %q; readers see %q, want %q; synced %v", step.name, told, step.told, seen, step.seen, b.in.HasSynced())
		}
	}
}

// TestTheReaderAppliesWhatItRead: before it waits, unless another goroutine has the write lock or a source
// is slow.
func TestTheReaderAppliesWhatItRead(t *testing.T) {
	b := newRig(t)
	said := func(want string) {
		t.Helper()
		if got := strings.Join(b.told, ", "); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		b.told = nil
	}
	b.Replace()
	b.Put(at("a", "1"))
	b.Sweep("1")
	said("add a initial")
	b.Put(at("a", "2"))
	said("")
	b.a.Commit()
	said("update a")
	b.Delete(at("a", "4"))
	b.a.Commit()
	said("delete a")
	b.a.writeLock.Lock()
	b.Put(at("b", "5"))
	b.a.Commit()
	b.a.writeLock.Unlock()
	<-b.in.woken // the applier's goroutine is told
	said("")
	b.Put(at("b", "6")) // merged with the one that waits
	b.a.Commit()
	said("add b")
	b.in.readAhead.Store(true) // a source was slow
	for i := range 10 {
		b.Put(at("b", fmt.Sprint(7+i)))
		b.a.Commit()
	}
	said("")
	if f := b.in.Figures(); b.a.inbox.pushed.Load() != 5+10 || f.Queued != 1 || f.Coalesced != 9 {
		t.Errorf("%+v, want every change counted, and one slot", f)
	}
	b.a.round()
	said("update b")
	b.in.readAhead.Store(false)
	b.a.stop()
	b.Put(at("b", "99"))
	b.a.Commit()
	said("")
}

// Once a list is in the store Version is that of the list, whoever has applied it: the reader, or the writer's goroutine
// before the reader knows of it.
func TestVersionFollowsTheList(t *testing.T) {
	for name, ahead := range map[string]bool{"applied by the reader": false, "applied for it": true} {
		t.Run(name, func(t *testing.T) {
			b := newRig(t)
			defer b.a.stop()
			b.in.readAhead.Store(ahead)
			for _, version := range []string{"7", "9", "3"} { // the server goes back in the end
				b.Replace()
				b.Put(at("a", version))
				b.Sweep(version)
				b.a.Commit()
				b.a.round()
				for range 2 {
					if v := b.in.Version(); v != version {
						t.Fatalf("%q, want %q", v, version)
					}
				}
			}
		})
	}
}

// TestTheInboxMergesNewerStatesOnly: the store gets each delete, each incarnation, and what a list consists of.
func TestTheInboxMergesNewerStatesOnly(t *testing.T) {
	put := func(e *store.Entry) reflector.Update { return reflector.Update{What: reflector.Put, Entry: e} }
	gone := func(e *store.Entry) reflector.Update { return reflector.Update{What: reflector.Delete, Entry: e} }
	a1, a2, a3 := at("a", "1"), at("a", "2"), at("a", "3")
	other := store.Rejected(object.Header{Key: a1.Key(), UID: "other", ResourceVersion: "4"}, nil)
	for _, c := range []struct {
		name   string
		pushed []reflector.Update
		want   []int // the indexes of those that are left
	}{
		{"newer states", []reflector.Update{put(a1), put(at("b", "9")), put(a2), put(a3)}, []int{3, 1}},
		{"an older state", []reflector.Update{put(a2), put(a1)}, []int{0, 1}},
		{"a delete", []reflector.Update{put(a1), gone(a2)}, []int{0, 1}},
		{"a state after a delete", []reflector.Update{gone(a1), put(a2), put(a3)}, []int{0, 2}},
		{"another incarnation", []reflector.Update{put(a1), put(other)}, []int{0, 1}},
		{"a list begins", []reflector.Update{put(a1), {What: reflector.Replace}, put(a2)}, []int{0, 1, 2}},
	} {
		b := newInbox()
		for i := range c.pushed {
			b.push(&c.pushed[i])
		}
		var want []reflector.Update
		for _, i := range c.want {
			want = append(want, c.pushed[i])
		}
		if got := b.take(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
		if got := b.merged.Load(); got != uint64(len(c.pushed)-len(want)) {
			t.Errorf("%s: %d merged", c.name, got)
		}
	}
}

// TestNotTooMuchWaits: whoever holds the write lock, and however often the reader failed to get it.
func TestNotTooMuchWaits(t *testing.T) {
	for _, every := range []int{1, 63, 127} {
		synctest.Test(t, func(t *testing.T) {
			b := newRig(t)
			ctx, cancel := context.WithCancel(t.Context())
			b.in.ctx = ctx
			b.a.writeLock.Lock()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 3 * maxInbox {
					b.Put(at(fmt.Sprint("n", i), fmt.Sprint(i+1)))
					if i%every == every-1 {
						b.a.Commit()
					}
				}
			}()
			synctest.Wait()
			if n := b.a.inbox.len(); n < maxInbox-every || n > maxInbox+every {
				t.Errorf("committed every %d: %d wait", every, n)
			}
			ended := make(chan error)
			go func() { ended <- b.a.run(ctx) }() // makes room
			b.a.writeLock.Unlock()
			<-done
			b.a.Commit()
			synctest.Wait()
			if b.in.store.Stats().Objects != 3*maxInbox {
				t.Errorf("committed every %d: %d objects", every, b.in.store.Stats().Objects)
			}
			cancel()
			<-ended
		})
	}
}

func TestAKindThatIsNotServedIsNotSynced(t *testing.T) {
	b := newRig(t)
	b.Replace()
	b.Sweep("")
	if b.apply(t); b.in.HasSynced() {
		t.Error("synced with a kind that the server does not know")
	}
	b.Replace()
	b.Sweep("1")
	if b.apply(t); !b.in.HasSynced() {
		t.Error("not synced when it came")
	}
}

func TestGarbageWithoutNameIsReported(t *testing.T) {
	b := newRig(t)
	cause := errors.New("garbage")
	b.a.Apply(&reflector.Update{What: reflector.Unusable, ResourceVersion: "7", Err: cause})
	b.a.Apply(&reflector.Update{What: reflector.Unusable, Key: object.Key{Name: "a"}, Err: cause}) // its entry follows
	if len(b.bad) != 1 || !errors.Is(b.bad[0].Err, cause) || b.bad[0].ResourceVersion != "7" {
		t.Errorf("problems %+v", b.bad)
	}
}
