package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// rig is an informer without goroutines: what is pushed into the sink is applied by apply.
type rig struct {
	*sink
	a    *applier
	told []string
	bad  []Problem
	busy bool // the applier is at something else whenever the reader would apply something
}

func (b *rig) meanwhile(do func()) {
	if b.busy {
		b.a.turn.Lock()
		defer b.a.turn.Unlock()
	}
	do()
	b.Settle()
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
	b.sink = &sink{in: in}
	b.a = newApplier(in)
	in.applier = b.a
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
	b.a.step(b.in.fifo.TakeAll(nil))
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
		{"a list begins", func() { b.BeginReplace(false, reflector.First); b.Upsert(at("a", "1")) }, "", "", false},
		{"goes on", func() { b.Upsert(at("b", "2")) }, "", "", false},
		{"breaks off", func() { b.AbortReplace() }, "", "", false},
		{"another one", func() { b.BeginReplace(false, reflector.First); b.Upsert(at("b", "2")) }, "", "", false},
		{"is whole", func() { b.Upsert(at("c", "3")); b.EndReplace("3") }, "add b initial, add c initial", "b c", true},
		{"live", func() { b.Upsert(at("a", "4")); b.Delete(at("b", "5")) }, "add a, delete b", "a c", true},
		{"live, then a relist begins", func() {
			b.Upsert(at("d", "6"))
			b.BeginReplace(false, reflector.Expired)
			b.Upsert(at("d", "7"))
		}, "add d", "a c d", true},
		{"an object comes and goes meanwhile", func() { b.Upsert(at("e", "8")); b.Delete(at("e", "9")) }, "", "a c d", true},
		{"is whole, and then live", func() {
			b.Upsert(at("f", "10"))
			b.EndReplace("10")
			b.Upsert(at("f", "11"))
		}, "delete e, delete a, delete c, update d, add f, update f", "d f", true},
		{"nothing", func() {}, "", "d f", true},
		{"the kind is not served any more", func() { b.BeginReplace(false, reflector.KindGone); b.EndReplace("") }, "delete d, delete f", "", true},
	} {
		b.meanwhile(step.do)
		told, seen := b.apply(t)
		if told != step.told || seen != step.seen || b.in.HasSynced() != step.synced {
			t.Errorf("%s: told %q, want %q; readers see %q, want %q; synced %v", step.name, told, step.told, seen, step.seen, b.in.HasSynced())
		}
	}
}

// TestTheReaderAppliesWhatItRead: before it waits, or when there is much of it, unless it is not its turn.
func TestTheReaderAppliesWhatItRead(t *testing.T) {
	b := newRig(t)
	said := func(want string) {
		t.Helper()
		if got := strings.Join(b.told, ", "); got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		b.told = nil
	}
	b.BeginReplace(false, reflector.First)
	b.Upsert(at("a", "1"))
	b.EndReplace("1")
	b.Upsert(at("a", "2"))
	said("")
	b.Settle()
	said("add a initial, update a")
	b.Delete(at("a", "4"))
	b.Settle()
	said("delete a")
	b.a.turn.Lock()
	b.Upsert(at("b", "5"))
	b.Settle()
	b.a.turn.Unlock()
	if err := b.in.fifo.Wait(t.Context()); err != nil { // the one who has the turn is told
		t.Error(err)
	}
	said("")
	b.Upsert(at("b", "6")) // merged with the one that waits
	b.Settle()
	said("add b")
	for i := range together {
		said("")
		b.Upsert(at("b", fmt.Sprint(7+i)))
	}
	said("update b")
	if s := b.in.fifo.Stats(); s.Pushed != 5+together || s.Depth != 0 {
		t.Errorf("%+v, want every change counted", s)
	}
	b.a.stop()
	b.Upsert(at("b", "99"))
	b.Settle()
	said("")
}

// TestNotTooMuchWaits: whoever has the turn, and however often the reader would have liked to have it.
func TestNotTooMuchWaits(t *testing.T) {
	for _, every := range []int{1, together - 1, 3 * together} {
		synctest.Test(t, func(t *testing.T) {
			b := newRig(t)
			ctx, cancel := context.WithCancel(t.Context())
			b.in.ctx = ctx
			b.a.turn.Lock()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 3 * ahead {
					b.Upsert(at(fmt.Sprint("n", i), fmt.Sprint(i+1)))
					if i%every == every-1 {
						b.Settle()
					}
				}
			}()
			synctest.Wait()
			if n := b.in.fifo.Stats().Depth; n < ahead-every || n > ahead+together {
				t.Errorf("settled every %d: %d wait", every, n)
			}
			ended := make(chan error)
			go func() { ended <- b.a.run(ctx) }() // makes room
			b.a.turn.Unlock()
			<-done
			b.Settle()
			synctest.Wait()
			if b.in.store.Stats().Objects != 3*ahead {
				t.Errorf("settled every %d: %d objects", every, b.in.store.Stats().Objects)
			}
			cancel()
			<-ended
		})
	}
}

func TestAKindThatIsNotServedIsNotSynced(t *testing.T) {
	b := newRig(t)
	b.BeginReplace(false, reflector.KindGone)
	b.EndReplace("")
	if b.apply(t); b.in.HasSynced() {
		t.Error("synced with a kind that the server does not know")
	}
	b.BeginReplace(false, reflector.First)
	b.EndReplace("1")
	if b.apply(t); !b.in.HasSynced() {
		t.Error("not synced when it came")
	}
}

func TestGarbageWithoutNameIsReported(t *testing.T) {
	b := newRig(t)
	cause := errors.New("garbage")
	b.Report(reflector.Problem{ResourceVersion: "7", Err: cause})
	b.Report(reflector.Problem{Key: object.Key{Name: "a"}, Err: cause}) // its entry follows
	if len(b.bad) != 1 || !errors.Is(b.bad[0].Err, cause) || b.bad[0].ResourceVersion != "7" {
		t.Errorf("problems %+v", b.bad)
	}
}
