package finalizer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

const name = "webapp.example.com/cleanup"

func TestMain(m *testing.M) { servertest.Main(m) }

type step = finalizer.Step[*corev1.ConfigMap]

// cluster is a namespace, and a client that counts its requests.
type cluster struct {
	*client.Live
	t    *testing.T
	ns   string
	sent int
}

func newCluster(t *testing.T) *cluster {
	p := servertest.Shared(t)
	c := &cluster{t: t, ns: servertest.Namespace(t, p)}
	c.Live = livetest.Client(t, p, client.Options{Hook: func(d client.Done) {
		if d.Resource.Resource != "" {
			c.sent++
		}
	}})
	return c
}

func (c *cluster) create(name string, finalizers ...string) *corev1.ConfigMap {
	c.t.Helper()
	got, err := client.Create(c.t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: name, Finalizers: finalizers}})
	c.check(err)
	return got
}

func (c *cluster) get(name string) *corev1.ConfigMap {
	c.t.Helper()
	got, err := client.Get[corev1.ConfigMap](c.t.Context(), c, object.Key{Namespace: c.ns, Name: name})
	c.check(err)
	return got
}

// delete deletes the object and returns its state on the server.
func (c *cluster) delete(name string) *corev1.ConfigMap {
	c.t.Helper()
	c.check(client.Delete(c.t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: name}}))
	return c.get(name)
}

func (c *cluster) edit(g *corev1.ConfigMap, change func(*corev1.ConfigMap)) {
	c.t.Helper()
	after := g.DeepCopy()
	change(after)
	_, err := client.Patch(c.t.Context(), c, g, client.Diff(g, after))
	c.check(err)
}

func (c *cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) gone(name string) {
	c.t.Helper()
	_, err := client.Get[corev1.ConfigMap](c.t.Context(), c, object.Key{Namespace: c.ns, Name: name})
	if client.IgnoreNotFound(err) != nil || err == nil {
		c.t.Errorf("%s is still there: %v", name, err)
	}
}

func TestAddKeepsConcurrentChanges(t *testing.T) {
	c := newCluster(t)
	for _, others := range [][]string{nil, {"example.com/other"}} {
		read := c.create(fmt.Sprintf("g%d", len(others)), others...)
		// Concurrent changes of other fields stay and do no harm.
		c.edit(read, func(g *corev1.ConfigMap) { g.Data = map[string]string{"a": "b"} })
		g, err := finalizer.Run[corev1.ConfigMap](t.Context(), c, read, name)
		c.check(err)
		if want := append(slices.Clone(others), name); g == nil || !slices.Equal(g.Finalizers, want) || g.Data["a"] != "b" {
			t.Fatalf("got %+v, want the finalizers %q", g, want)
		}
		if !slices.Equal(read.Finalizers, others) {
			t.Errorf("what was given was changed: %q", read.Finalizers)
		}
		before := c.sent
		again, err := finalizer.Run(t.Context(), c, g, name, finalizer.Do("never", func(context.Context, *corev1.ConfigMap) error {
			t.Error("a step runs for an object that lives")
			return nil
		}))
		if c.check(err); again != g || c.sent != before {
			t.Errorf("%d requests at rest", c.sent-before)
		}
	}
}

// Run adds nothing to an object that has changed since it was read.
func TestChangedObjectGetsNoFinalizer(t *testing.T) {
	c := newCluster(t)
	for what, change := range map[string]func(*corev1.ConfigMap){
		"finalizer-of-another": func(g *corev1.ConfigMap) {
			c.edit(g, func(g *corev1.ConfigMap) { g.Finalizers = append(g.Finalizers, "example.com/other") })
		},
		"added-already": func(g *corev1.ConfigMap) {
			_, err := finalizer.Run[corev1.ConfigMap](t.Context(), c, g, name)
			c.check(err)
		},
		"being-deleted": func(g *corev1.ConfigMap) { c.delete(g.Name) },
		"another-of-its-name": func(g *corev1.ConfigMap) {
			c.edit(c.delete(g.Name), func(g *corev1.ConfigMap) { g.Finalizers = nil })
			c.create(g.Name, g.Finalizers...)
		},
	} {
		t.Run(what, func(t *testing.T) {
			read := c.create(what, "example.com/first")
			change(read)
			want := c.get(what)
			g, err := finalizer.Run[corev1.ConfigMap](t.Context(), c, read, name)
			if _, ok := errors.AsType[*finalizer.ChangedError](err); !ok || g != nil {
				t.Errorf("got %v, %v", g, err)
			}
			if now := c.get(what); now.ResourceVersion != want.ResourceVersion {
				t.Errorf("it was written to: %q", now.Finalizers)
			}
		})
	}
	t.Run("gone", func(t *testing.T) {
		read := c.create("gone")
		c.check(client.Delete(t.Context(), c, read))
		if g, err := finalizer.Run[corev1.ConfigMap](t.Context(), c, read, name); g != nil || err != nil {
			t.Errorf("got %v, %v", g, err)
		}
		c.gone("gone")
	})
}

// A clean-up that is interrupted starts again from the first step. The finalizer is removed after
// the last one.
func TestInterruptedCleanUpStartsAgain(t *testing.T) {
	c := newCluster(t)
	c.create("g", name, "example.com/other")
	read := c.delete("g")
	var ran []string
	broken := errors.New("out of reach")
	var answer error
	steps := []step{
		finalizer.Do("first", func(context.Context, *corev1.ConfigMap) error { ran = append(ran, "first"); return nil }),
		finalizer.Do("second", func(context.Context, *corev1.ConfigMap) error { ran = append(ran, "second"); return answer }),
		finalizer.Do("third", func(context.Context, *corev1.ConfigMap) error { ran = append(ran, "third"); return nil }),
	}
	answer = broken
	g, err := finalizer.Run(t.Context(), c, read, name, steps...)
	if e, ok := errors.AsType[*finalizer.StepError](err); g != nil || !ok || e.Step != "second" || !errors.Is(err, broken) {
		t.Errorf("got %v, %v", g, err)
	}
	answer = finalizer.Wait(time.Minute, "a volume is still in use")
	g, err = finalizer.Run(t.Context(), c, read, name, steps...)
	if res, err := finalizer.Result(err); g != nil || err != nil || res != (reconcile.Result{RequeueAfter: time.Minute}) {
		t.Errorf("got %v, %+v, %v", g, res, err)
	}
	if !object.HasFinalizer(c.get("g"), name) {
		t.Fatal("the finalizer went before the last step")
	}
	// Writes of the status, ours or others', must not keep the finalizer.
	c.edit(read, func(g *corev1.ConfigMap) { g.Data = map[string]string{"a": "b"} })
	answer = nil
	g, err = finalizer.Run(t.Context(), c, read, name, steps...)
	if c.check(err); g != nil {
		t.Error("there is an object to go on with")
	}
	if want := []string{"first", "second", "first", "second", "first", "second", "third"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	left := c.get("g")
	if !slices.Equal(left.Finalizers, []string{"example.com/other"}) || left.Data["a"] != "b" {
		t.Errorf("left: %q, %v", left.Finalizers, left.Data)
	}
	// With the outdated object the steps run again, and find that they are done.
	_, err = finalizer.Run(t.Context(), c, read, name, steps...)
	if _, ok := errors.AsType[*finalizer.ChangedError](err); !ok {
		t.Errorf("on the old view: %v", err)
	}
	before := c.sent
	if g, err := finalizer.Run(t.Context(), c, left, name, steps...); g != nil || err != nil || c.sent != before {
		t.Errorf("without the finalizer: %v, %v, %d requests", g, err, c.sent-before)
	}
	c.edit(left, func(g *corev1.ConfigMap) { g.Finalizers = nil })
	if g, err := finalizer.Run(t.Context(), c, read, name); g != nil || err != nil {
		t.Errorf("gone: %v, %v", g, err)
	}
	c.gone("g")
}

func TestEndedContextStopsBetweenSteps(t *testing.T) {
	c := newCluster(t)
	c.create("g", name)
	read := c.delete("g")
	ctx, cancel := context.WithCancelCause(t.Context())
	lost := errors.New("lease lost")
	_, err := finalizer.Run(ctx, c, read, name,
		finalizer.Do("first", func(context.Context, *corev1.ConfigMap) error { cancel(lost); return nil }),
		finalizer.Do("second", func(context.Context, *corev1.ConfigMap) error { t.Error("ran"); return nil }))
	if e, ok := errors.AsType[*finalizer.StepError](err); !ok || e.Step != "second" || !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
	c.get("g")
}
