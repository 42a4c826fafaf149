package child_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/servertest"
)

// guestbooks is an operator as a user writes it. A Service stands for the custom resource. It has a
// registration outside the cluster to clean up, two children and a status.
type guestbooks struct {
	client client.Client
	names  map[string]bool // names registered outside
}

func (r *guestbooks) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, err := client.Get[corev1.Service](ctx, r.client, req)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	g, err = finalizer.Run(ctx, r.client, g, "webapp.example.com/cleanup", finalizer.Do("release the name", r.release))
	if g == nil {
		return finalizer.Result(err)
	}
	r.names[g.Name] = true

	st := condition.Begin(g, &g.Status.Conditions)
	d, _, deployed := child.Ensure(ctx, r.client, g, deploymentOf(g))
	_, _, configured := child.Ensure(ctx, r.client, g, settingsOf(g))
	_, pruned := child.Prune(ctx, r.client, g, func(s *corev1.ConfigMap) bool { return s.Name == settingsOf(g).Name })
	switch err = errors.Join(deployed, configured, pruned); {
	case err != nil:
		st.False("Deployed", "Failed", "%v", err)
	case d.Generation > d.Status.ObservedGeneration:
		st.Unknown("Deployed", "Waiting", "the Deployment is not observed yet")
	default:
		st.True("Deployed", "Applied", "as wanted")
	}
	st.Summarize("Ready", "Deployed")
	return reconcile.Result{}, errors.Join(err, st.Patch(ctx, r.client))
}

func (r *guestbooks) release(_ context.Context, g *corev1.Service) error {
	delete(r.names, g.Name)
	return nil
}

func deploymentOf(g *corev1.Service) *appsv1.Deployment {
	app := map[string]string{"guestbook": g.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, Labels: app},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: "example.com/guests", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
					Env: []corev1.EnvVar{{Name: "MESSAGE", Value: g.Annotations["message"]}},
				}}},
			},
		},
	}
}

func settingsOf(g *corev1.Service) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: g.Name + "-" + g.Annotations["settings"]}, Data: map[string]string{"message": g.Annotations["message"]}}
}

var errDied = errors.New("the process died")

// mortal makes the last write before the process dies, and none after it.
type mortal struct {
	client.Client
	left int
}

func (m *mortal) Write(ctx context.Context, op client.Op) (object.Object, error) {
	if m.left <= 0 {
		return nil, errDied
	}
	got, err := m.Client.Write(ctx, op)
	if m.left--; m.left == 0 {
		return nil, errDied
	}
	return got, err
}

// The process dies after each of its writes in turn. The next process always reaches the same state:
// nothing is duplicated, left over or forgotten.
func TestCrashAfterEachWrite(t *testing.T) {
	c := newCluster(t)
	names := map[string]bool{}
	settle := func(key object.Key) {
		t.Helper()
		for range 20 {
			before := len(c.writes)
			if _, err := (&guestbooks{c, names}).Reconcile(t.Context(), key); err != nil {
				if _, behind := errors.AsType[*client.ConflictError](err); !behind {
					t.Fatal(err)
				}
				continue
			}
			if len(c.writes) == before {
				return
			}
		}
		t.Fatalf("it never rests: %q", c.writes)
	}
	// run changes the object, dies after k writes, and says whether it got that far.
	run := func(key object.Key, k int) (died bool) {
		t.Helper()
		_, err := (&guestbooks{&mortal{c, k}, names}).Reconcile(t.Context(), key)
		died = errors.Is(err, errDied)
		if err != nil && !died {
			t.Fatal(err)
		}
		settle(key)
		return died
	}
	created, changed, deleted := 0, 0, 0
	for k := 1; ; k++ {
		g, err := client.Create(t.Context(), c, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: fmt.Sprintf("g%d", k), Annotations: map[string]string{"message": "hello", "settings": "a"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}},
		})
		c.check(err)
		key := object.KeyOf(g)
		died := run(key, k)
		if died {
			created++
		}
		check(c, key, "hello", "a")

		_, err = client.Patch(t.Context(), c, g, client.MergePatch(`{"metadata":{"annotations":{"message":"bye","settings":"b"}}}`))
		c.check(err)
		if run(key, k) {
			died = true
			changed++
		}
		check(c, key, "bye", "b")

		c.check(client.Delete(t.Context(), c, g))
		if run(key, k) {
			died = true
			deleted++
		}
		if _, err := client.Get[corev1.Service](t.Context(), c, key); err == nil || client.IgnoreNotFound(err) != nil {
			t.Errorf("still there: %v", err)
		}
		if len(names) > 0 {
			t.Errorf("still registered: %v", names)
		}
		if !died {
			break
		}
	}
	// Finalizer, two children and the status; then two children, one deleted, perhaps a status; the
	// finalizer.
	if created != 4 || changed < 3 || deleted != 1 {
		t.Errorf("died %d, %d and %d times", created, changed, deleted)
	}
}

func check(c *cluster, key object.Key, message, settings string) {
	c.t.Helper()
	g, err := client.Get[corev1.Service](c.t.Context(), c, key)
	c.check(err)
	d, err := client.Get[appsv1.Deployment](c.t.Context(), c, key)
	c.check(err)
	if got := d.Spec.Template.Spec.Containers[0].Env[0].Value; got != message {
		c.t.Errorf("message %q, want %q", got, message)
	}
	var have []string
	for s, err := range client.List[corev1.ConfigMap](c.t.Context(), c, client.InNamespace(c.ns)) {
		if c.check(err); metav1.IsControlledBy(s, g) {
			have = append(have, s.Name+":"+s.Data["message"])
		}
	}
	if want := []string{g.Name + "-" + settings + ":" + message}; !slices.Equal(have, want) {
		c.t.Errorf("settings %q, want %q", have, want)
	}
	if len(g.Finalizers) != 1 || len(g.Status.Conditions) != 2 {
		c.t.Errorf("finalizers %q, conditions %v", g.Finalizers, g.Status.Conditions)
	}
}

// reads is a client that reads from a cache.
type reads struct {
	*client.Live
	shared *cache.Cache
}

func (r reads) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	return r.shared.Get(ctx, key, into, o)
}

func (r reads) List(ctx context.Context, proto object.Object, o client.ListOptions) iter.Seq2[object.Object, error] {
	return r.shared.List(ctx, proto, o)
}

func (r reads) Page(ctx context.Context, proto object.Object, o client.ListOptions) (client.Page[object.Object], error) {
	return r.shared.Page(ctx, proto, o)
}

// While nothing differs no request is sent, neither a write nor a read, with managedFields in the cache or
// without them.
func TestNothingIsSentAtRestOnACache(t *testing.T) {
	for name, keep := range map[string]bool{"kept": true, "cut": false} {
		t.Run(name, func(t *testing.T) {
			p := servertest.Shared(t)
			c := &cluster{t: t, ns: servertest.Namespace(t, p)}
			var sent atomic.Int32
			live := livetest.Client(t, p, client.Options{Hook: func(d client.Done) {
				if d.Resource.Resource != "" && d.Verb != "watch" {
					sent.Add(1)
				}
			}})
			c.Live = live
			shared, err := cache.New(cache.Connect(live), cache.Options{KeepManagedFields: keep})
			c.check(err)
			for _, proto := range []object.Object{&corev1.Service{}, &appsv1.Deployment{}, &corev1.ConfigMap{}} {
				_, err := shared.Open(t.Context(), proto, client.Selection{})
				c.check(err)
			}
			c.run(shared)

			g, err := client.Create(t.Context(), live, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "g", Annotations: map[string]string{"settings": "a"}}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			})
			c.check(err)
			r := &guestbooks{reads{live, shared}, map[string]bool{}}
			// The cache shows our writes after a delay. Until then a reconcile may fail or apply once more,
			// and is called again.
			for quiet := 0; quiet < 3; {
				c.check(t.Context().Err())
				before := sent.Load()
				_, err := r.Reconcile(t.Context(), object.KeyOf(g))
				if _, changed := errors.AsType[*finalizer.ChangedError](err); !changed {
					if _, behind := errors.AsType[*client.ConflictError](err); !behind {
						c.check(err)
					}
				}
				if caughtUp := seen(t, shared, live, g); err == nil && caughtUp && sent.Load() == before+int32(compared) {
					quiet++
				} else {
					quiet = 0
				}
			}
		})
	}
}

// compared is the number of requests of one call of seen.
const compared = 3

// seen reports whether the cache shows what the server has.
func seen(t *testing.T, shared *cache.Cache, live *client.Live, g *corev1.Service) bool {
	same := true
	for _, proto := range []object.Object{&corev1.Service{}, &appsv1.Deployment{}, &corev1.ConfigMap{}} {
		key := object.KeyOf(g)
		if _, ok := proto.(*corev1.ConfigMap); ok {
			key = object.Key{Namespace: g.Namespace, Name: settingsOf(g).Name}
		}
		now, then := proto.DeepCopyObject().(object.Object), proto.DeepCopyObject().(object.Object)
		err1, err2 := live.Get(t.Context(), key, now, client.GetOptions{}), shared.Get(t.Context(), key, then, client.GetOptions{})
		same = same && err1 == nil && err2 == nil && now.GetResourceVersion() == then.GetResourceVersion()
	}
	return same
}
