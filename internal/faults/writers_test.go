package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// writer creates, changes and deletes ConfigMaps that no other writer touches.
type writer struct {
	r    *rig
	id   int
	rnd  *rand.Rand
	mine map[string]*corev1.ConfigMap
	ops  int
}

const writerCount = 4

// churn makes that many random changes, and returns when the server has confirmed all of them.
func (r *rig) churn(changes int) {
	r.Helper()
	r.write(r.Context(), func(w *writer) bool { return w.ops < changes/writerCount })
}

// during lets the writers work while f runs.
func (r *rig) during(f func()) {
	r.Helper()
	over := make(chan struct{})
	g, _ := run.New(r.Context())
	g.Go("fault", func(context.Context) error { defer close(over); f(); return nil })
	pause := pick(5*time.Millisecond, 20*time.Millisecond)
	if inBubble() { // where outages last as long as in a long run
		pause = 500 * time.Millisecond
	}
	r.write(r.Context(), func(w *writer) bool {
		select {
		case <-over:
			return false
		case <-time.After(pause): // slow enough to keep logs short
			return true
		}
	})
	g.Wait()
}

func (r *rig) write(ctx context.Context, more func(*writer) bool) {
	r.Helper()
	if r.writers == nil {
		for id := range writerCount {
			r.writers = append(r.writers, &writer{r: r, id: id, rnd: rand.New(rand.NewPCG(uint64(id), 1)), mine: map[string]*corev1.ConfigMap{}})
		}
	}
	g, _ := run.New(ctx)
	for _, w := range r.writers {
		w.ops = 0
		g.Go(fmt.Sprint("writer ", w.id), func(ctx context.Context) error {
			for ; more(w); w.ops++ {
				if err := w.one(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(r.T, g.Wait())
}

func (w *writer) owns(name string) bool { return strings.HasPrefix(name, fmt.Sprintf("w%d-", w.id)) }

// fill creates all objects of the writers.
func (r *rig) fill() {
	r.Helper()
	for _, w := range r.writers {
		for i := range max(1, r.keys/writerCount) {
			name := fmt.Sprintf("w%d-%d", w.id, i)
			if w.mine[name] == nil {
				must(r.T, w.wrote(client.Create(r.Context(), r.direct, &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: name},
				})))
			}
		}
	}
}

// one makes one change. If there is no clear answer, it finds out what the server has.
func (w *writer) one(ctx context.Context) error {
	name := fmt.Sprintf("w%d-%d", w.id, w.rnd.IntN(max(1, w.r.keys/writerCount)))
	has := w.mine[name]
	var err error
	switch {
	case has == nil:
		err = w.wrote(client.Create(ctx, w.r.direct, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.r.ns, Name: name}, Data: map[string]string{"i": "0"},
		}))
	case w.rnd.IntN(4) == 0:
		if err = client.Delete(ctx, w.r.direct, has, client.IfUID(has.UID)); err == nil {
			w.gone(has)
		}
	default:
		next := has.DeepCopy()
		next.Data = map[string]string{"i": fmt.Sprint(w.rnd.IntN(1 << 30))}
		err = w.wrote(client.Update(ctx, w.r.direct, next))
	}
	if err != nil {
		return w.settle(ctx, name, err)
	}
	return nil
}

func (w *writer) wrote(o *corev1.ConfigMap, err error) error {
	if err == nil {
		w.mine[o.Name] = o
		w.r.book.Wrote(o)
	}
	return err
}

func (w *writer) gone(o *corev1.ConfigMap) {
	delete(w.mine, o.Name)
	w.r.book.Deleted(object.KeyOf(o), o.UID)
}

// settle finds out what the server has after an unclear answer. cause is that answer.
func (w *writer) settle(ctx context.Context, name string, cause error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, fmt.Errorf("no answer on what became of %s: %w", name, cause))
	defer cancel()
	for {
		ask, stop := context.WithTimeout(ctx, 10*time.Second)
		o, err := client.Get[corev1.ConfigMap](ask, w.r.direct, object.Key{Namespace: w.r.ns, Name: name})
		stop()
		has := w.mine[name]
		switch {
		case err == nil && has != nil && has.UID != o.UID:
			w.gone(has)
			fallthrough
		case err == nil:
			return w.wrote(o, nil)
		case apierrors.IsNotFound(err):
			if has != nil {
				w.gone(has)
			}
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond): // between two requests to a server that is down
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		}
	}
}
