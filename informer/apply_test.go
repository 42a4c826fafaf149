package informer

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

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
	b.in.fifo.Wake()
	batch, err := b.in.fifo.TakeAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.a.step(batch)
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

// TestARelistIsSeenAtOnceOrNotAtAll: whatever batches it is taken in.
func TestARelistIsSeenAtOnceOrNotAtAll(t *testing.T) {
	b := newRig(t)
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
		step.do()
		told, seen := b.apply(t)
		if told != step.told || seen != step.seen || b.in.HasSynced() != step.synced {
			t.Errorf("%s: told %q, want %q; readers see %q, want %q; synced %v", step.name, told, step.told, seen, step.seen, b.in.HasSynced())
		}
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
