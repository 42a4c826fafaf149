package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/internal/ledger"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
	"github.com/flyball-io/flyball/test/servertest"
	"github.com/flyball-io/flyball/workqueue"
)

// live is a manager of one namespace of a real cluster. It runs from run to the end of the test.
type live struct {
	*flyball.Manager
	t  *testing.T
	ns string
}

func newLive(t *testing.T, cfg *rest.Config, ns string) *live {
	t.Helper()
	m, err := flyball.New(flyball.Options{
		Config: cfg, Name: "controller.test", Cache: cache.Options{Namespaces: []string{ns}},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &live{m, t, ns}
}

func (l *live) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	l.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("Run: %v", err)
		}
	})
}

func (l *live) configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: name}, Data: map[string]string{"value": value},
	}
}

// write starts writers that change ConfigMaps at random, and records the answers of the server.
func (l *live) write(ctx context.Context, book *ledger.Ledger, writers, changes int) {
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range changes {
				if err := l.writeOne(ctx, book, fmt.Sprintf("w%d-%d", w, rand.IntN(10)), fmt.Sprint(i)); err != nil {
					l.t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

func (l *live) writeOne(ctx context.Context, book *ledger.Ledger, name, value string) error {
	old, err := client.Get[corev1.ConfigMap](ctx, l.Live(), reconcile.Request{Namespace: l.ns, Name: name})
	switch {
	case apierrors.IsNotFound(err):
		o, err := client.Create(ctx, l.Live(), l.configMap(name, value))
		if err == nil {
			book.Wrote(o)
		}
		return err
	case err != nil:
		return err
	case rand.IntN(4) == 0:
		if err := client.Delete(ctx, l.Live(), old); err != nil {
			return err
		}
		book.Deleted(reconcile.Request{Namespace: l.ns, Name: name}, old.UID)
		return nil
	}
	old.Data["value"] = value
	o, err := client.Update(ctx, l.Live(), old)
	if err == nil {
		book.Wrote(o)
	}
	return err
}

// witness is a reconciler that records its reads from the cache. Some of its reconciles fail.
type witness struct {
	client client.Client
	view   *ledger.View
}

func (w *witness) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	switch rand.IntN(12) {
	case 0:
		return reconcile.Result{}, errors.New("conflict")
	case 1:
		panic("oops")
	}
	o, err := client.Get[corev1.ConfigMap](ctx, w.client, req)
	switch {
	case apierrors.IsNotFound(err):
		w.view.Gone(req)
	case err != nil:
		return reconcile.Result{}, err
	default:
		w.view.Saw(o)
	}
	return reconcile.Result{}, nil
}

func quick() workqueue.RateLimiter[any] {
	return workqueue.ExponentialLimiter[any](time.Millisecond, 100*time.Millisecond)
}

// After the last change of each key a reconcile starts that sees it, also if earlier reconciles failed.
func TestLiveNothingIsLost(t *testing.T) {
	p := servertest.Shared(t)
	l := newLive(t, p.RESTConfig(), servertest.Namespace(t, p))
	book := ledger.New()
	_, err := controller.NewWith(l.Manager, "witness", (&witness{l.Client(), book.View("witness")}).Reconcile,
		controller.Options{Workers: 4, RateLimiter: quick, Logger: slog.New(slog.DiscardHandler)},
		controller.For[corev1.ConfigMap]())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l.write(ctx, book, 4, 25) // existing objects
	l.run()
	l.write(ctx, book, 4, 100)
	if err := book.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// The server is killed in the middle and comes back on the same port and data.
func TestLiveServerIsKilled(t *testing.T) {
	p := planetest.Private(t, plane.Options{})
	l := newLive(t, p.RESTConfig(), "default")
	book := ledger.New()
	_, err := controller.NewWith(l.Manager, "witness", (&witness{l.Client(), book.View("witness")}).Reconcile,
		controller.Options{Workers: 2, RateLimiter: quick, Logger: slog.New(slog.DiscardHandler)},
		controller.For[corev1.ConfigMap]())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l.write(ctx, book, 2, 25)
	l.run()
	l.write(ctx, book, 2, 25)
	if err := book.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := p.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	l.write(ctx, book, 2, 25)
	if err := book.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// An object owned by a Deployment causes a reconcile of the Deployment, also if another controller made it.
func TestOwnedObjectReconcilesItsOwner(t *testing.T) {
	p := servertest.Shared(t)
	l := newLive(t, p.RESTConfig(), servertest.Namespace(t, p))
	caused := make(chan reconcile.Cause, 1000)
	r := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		if req.Name == "shop" {
			caused <- reconcile.CauseFrom(ctx)
		}
		return reconcile.Result{}, nil
	}
	_, err := controller.New(l.Manager, "owners", r,
		controller.For[appsv1.Deployment](), controller.Owns[appsv1.ReplicaSet]())
	if err != nil {
		t.Fatal(err)
	}
	l.run()
	labels := map[string]string{"app": "shop"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
	if _, err := client.Create(t.Context(), l.Live(), d); err != nil {
		t.Fatal(err)
	}
	// Changes of the Deployment itself may replace the causes of the ReplicaSet. So the test changes the
	// ReplicaSet alone when nothing else changes any more.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	select {
	case <-caused:
	case <-ctx.Done():
		t.Fatal("no reconcile")
	}
	w, err := client.Watch[appsv1.Deployment](ctx, l.Live(), client.InNamespace(l.ns))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Object != nil && e.Object.Status.AvailableReplicas == 1 {
			break
		}
	}
	for set, err := range client.List[appsv1.ReplicaSet](ctx, l.Live(), client.InNamespace(l.ns)) {
		if err != nil {
			t.Fatal(err)
		}
		mark := client.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"mark": "x"}}})
		if _, err := client.Patch(ctx, l.Live(), set, mark); err != nil {
			t.Fatal(err)
		}
	}
	for {
		select {
		case c := <-caused:
			if c.Kind.Kind == "ReplicaSet" && strings.HasPrefix(c.Key.Name, "shop-") {
				return
			}
		case <-ctx.Done():
			t.Fatal("no reconcile was caused by the ReplicaSet")
		}
	}
}

// A user may read ConfigMaps and not Secrets. The controller of ConfigMaps runs. The controller of Secrets names
// the missing permission within seconds, and runs when it is granted.
func TestForbiddenKindStopsNoOtherController(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	admin := newLive(t, p.RESTConfig(), ns)
	grant := func(resource string) {
		meta := metav1.ObjectMeta{Namespace: ns, Name: "reads-" + resource}
		role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get", "list", "watch"},
		}}}
		binding := &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "limited-" + ns}},
		}
		if _, err := client.Create(t.Context(), admin.Live(), role); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Create(t.Context(), admin.Live(), binding); err != nil {
			t.Fatal(err)
		}
	}
	grant("configmaps")
	if _, err := client.Create(t.Context(), admin.Live(), admin.configMap("c", "1")); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}}
	if _, err := client.Create(t.Context(), admin.Live(), secret); err != nil {
		t.Fatal(err)
	}

	cfg := p.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "limited-" + ns, Groups: []string{"system:authenticated"}}
	l := newLive(t, cfg, ns)
	said := make(chan string, 100)
	o := controller.Options{Logger: slog.New(slog.NewTextHandler(writer(said), &slog.HandlerOptions{Level: slog.LevelError}))}
	seen := make(chan string, 100)
	r := func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		seen <- req.Name
		return reconcile.Result{}, nil
	}
	if _, err := controller.NewWith(l.Manager, "configmaps", r, o, controller.For[corev1.ConfigMap]()); err != nil {
		t.Fatal(err)
	}
	c, err := controller.NewWith(l.Manager, "secrets", r, o, controller.For[corev1.Secret]())
	if err != nil {
		t.Fatal(err)
	}
	l.run()
	wait(t, seen, "the ConfigMap", "c")
	wait(t, said, "what is missing", "source cannot sync")
	var forbidden *client.ForbiddenError
	if err := c.State().Err; !errors.As(err, &forbidden) || forbidden.Resource.Resource != "secrets" ||
		!strings.Contains(err.Error(), "list") && !strings.Contains(err.Error(), "watch") {
		t.Errorf("state %v", err)
	}
	grant("secrets")
	wait(t, seen, "the Secret", "s")
}

// wait takes from ch until something contains text.
func wait(t *testing.T, ch <-chan string, what, text string) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		select {
		case s := <-ch:
			if strings.Contains(s, text) {
				return
			}
		case <-deadline:
			t.Fatalf("%s was not seen", what)
		}
	}
}

type writer chan string

func (w writer) Write(p []byte) (int, error) {
	select {
	case w <- string(p):
	default:
	}
	return len(p), nil
}
