package informer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/test/servertest"
)

func newClient(t *testing.T) (*client.Live, string) {
	t.Helper()
	p := servertest.Shared(t)
	return livetest.Client(t, p, client.Options{}), servertest.Namespace(t, p)
}

// TestLiveNothingLost: eight writers make, change and delete 1,000 ConfigMaps of a real cluster at
// random. In the end a source, a handler of typed objects, one of metadata only and the store have
// all seen the last state of each.
func TestLiveNothingLost(t *testing.T) {
	c, ns := newClient(t)
	f, err := cache.New(cache.Connect(c), cache.Options{
		Namespaces: []string{ns},
		Configure: func(o *informer.Options) {
			if !o.Selection.MetadataOnly {
				o.Transform = informer.Transform(func(m *corev1.ConfigMap) error {
					if m.Data == nil {
						m.Data = map[string]string{}
					}
					m.Data["seen"] = "yes"
					return nil
				})
			}
		},
		OnProblem: func(p informer.Problem) { t.Errorf("problem: %+v", p) },
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	book := ledger.New()
	whole, err := cache.Open[corev1.ConfigMap](t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	typed := book.View("typed handler")
	if _, err := whole.AddHandler(viewOf[corev1.ConfigMap](typed, func(o *corev1.ConfigMap) {
		if o.Data["seen"] != "yes" || o.ManagedFields != nil {
			t.Errorf("%s was not transformed", o.Name)
		}
	})); err != nil {
		t.Fatal(err)
	}
	source := book.View("source")
	if _, err := whole.Informer().Subscribe("source", func(ch store.Change) {
		if ch.New == nil {
			source.Gone(ch.Key)
			return
		}
		source.SawHeader(ch.New.Header())
	}); err != nil {
		t.Fatal(err)
	}
	light, err := f.Open(t.Context(), &corev1.ConfigMap{}, client.Selection{Namespace: ns, MetadataOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddHandler(light.Informer(), viewOf[metav1.PartialObjectMetadata](book.View("metadata handler"), nil)); err != nil {
		t.Fatal(err)
	}
	stop := start(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := f.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	churn(t, ctx, c, ns, book, 1000, 8, 500)
	if err := book.Wait(ctx); err != nil {
		t.Error(err)
	}
	late := book.View("late handler")
	if _, err := whole.AddHandler(viewOf[corev1.ConfigMap](late, nil)); err != nil {
		t.Fatal(err)
	}
	if err := book.Wait(ctx); err != nil {
		t.Error(err)
	}
	writes, deletes, live := book.Counts()
	t.Logf("%d writes, %d deletes, %d objects live; the handler was told of %d deletes", writes, deletes, live, typed.Deletes())

	fresh := without(t, client.List[corev1.ConfigMap](ctx, c, client.InNamespace(ns)))
	if err := ledger.Same(without(t, whole.Lister().All(ns, nil)), fresh); err != nil {
		t.Errorf("store: %v", err)
	}
	if err := ledger.Same(metas(t, light.Informer()), fresh); err != nil {
		t.Errorf("store of metadata: %v", err)
	}
	if err := stop(); !errors.Is(err, errEnd) {
		t.Errorf("Run = %v", err)
	}
}

// viewOf is a handler that notes what it is told.
func viewOf[T any, P object.Ptr[T]](v *ledger.View, check func(P)) informer.Handler[T] {
	saw := func(o *T) {
		if check != nil {
			check(o)
		}
		v.Saw(P(o))
	}
	return informer.Handler[T]{
		OnAdd:    func(o *T, _ bool) { saw(o) },
		OnUpdate: func(_, o *T) { saw(o) },
		OnDelete: func(o *T, _ bool) { v.Gone(object.KeyOf(P(o))) },
	}
}

// without yields the objects of a sequence, and fails on its errors.
func without[P any](t *testing.T, all iter.Seq2[P, error]) iter.Seq[P] {
	return func(yield func(P) bool) {
		for o, err := range all {
			if err != nil {
				t.Error(err)
				return
			}
			if !yield(o) {
				return
			}
		}
	}
}

// churn has writers make, change and delete keys at random, ops times each, and notes what the
// server answers.
func churn(t *testing.T, ctx context.Context, c *client.Live, ns string, book *ledger.Ledger, keys, writers, ops int) {
	t.Helper()
	g, _ := run.New(ctx)
	for w := range writers {
		g.Go(fmt.Sprintf("writer %d", w), func(ctx context.Context) error {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			mine := map[string]*corev1.ConfigMap{} // no other writer touches these
			for i := range ops {
				name := fmt.Sprintf("w%d-%d", w, rnd.IntN(keys/writers))
				if err := write(ctx, c, ns, name, i, rnd, mine, book); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

func write(ctx context.Context, c *client.Live, ns, name string, i int, rnd *rand.Rand, mine map[string]*corev1.ConfigMap, book *ledger.Ledger) error {
	has := mine[name]
	switch {
	case has == nil:
		made, err := client.Create(ctx, c, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string]string{"i": fmt.Sprint(i)},
		})
		if err != nil {
			return err
		}
		mine[name] = made
		book.Wrote(made)
	case rnd.IntN(3) == 0:
		if err := client.Delete(ctx, c, has, client.IfUID(has.UID)); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		book.Deleted(object.KeyOf(has), has.UID)
		delete(mine, name)
	default:
		has.Data = map[string]string{"i": fmt.Sprint(i)}
		changed, err := client.Update(ctx, c, has)
		if err != nil {
			return err
		}
		mine[name] = changed
		book.Wrote(changed)
	}
	return nil
}
