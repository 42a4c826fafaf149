package flyball

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// The cache and the server answer views of the same kinds as reads of whole objects.
func TestViewsFromWhereObjectsAreRead(t *testing.T) {
	type named struct {
		Name string `field:"metadata.name"`
	}
	a := newAPI(t)
	a.put("deployments", testobj.Deployment("web/shop"))
	a.put("pods", testobj.Pod("web/p1", testobj.Labels("app=shop")))
	a.put("secrets", &corev1.Secret{ObjectMeta: testobj.Deployment("web/s").ObjectMeta})
	var live atomic.Int32
	m := a.manager(t, Options{Name: "test", OnLiveRead: func(schema.GroupVersionKind) { live.Add(1) }})
	r, counted := calls(func(ctx context.Context, req reconcile.Request) (int, error) {
		c := m.Client()
		d, err := client.Project[appsv1.Deployment, named](ctx, c, req)
		if err != nil || d.Name != req.Name {
			return 0, errors.Join(err, errors.New("another name: "+d.Name))
		}
		n := 0
		for p, err := range client.ProjectList[corev1.Pod, named](ctx, c, client.InNamespace(req.Namespace), client.MatchingLabels{"app": req.Name}) {
			if err != nil || p.Name == "" {
				return 0, errors.Join(err, errors.New("no name"))
			}
			n++
		}
		if live.Load() != 0 {
			return 0, errors.New("what is watched was read from the server")
		}
		secret := object.Key{Namespace: "web", Name: "s"}
		if s, err := client.Project[corev1.Secret, named](ctx, c, secret); err != nil || s.Name != "s" || live.Load() != 1 {
			return 0, errors.Join(err, errors.New("no secret"))
		}
		for s, err := range client.ProjectList[corev1.Secret, named](ctx, c, client.InNamespace("web")) {
			if err != nil || s.Name != "s" || live.Load() != 2 {
				return 0, errors.Join(err, errors.New("no list of secrets"))
			}
		}
		// The server answers a read at or after a version.
		if _, err := client.Project[corev1.Pod, named](ctx, c, object.Key{Namespace: "web", Name: "p1"}, client.AtVersion("1")); err != nil {
			return 0, err
		}
		for _, err := range client.ProjectList[corev1.Pod, named](ctx, c, client.InNamespace("web"), client.AtVersion("1")) {
			if err != nil {
				return 0, err
			}
		}
		live.Store(0)
		return n, nil
	})
	if _, err := controller.New(m, "counter", r, controller.For[appsv1.Deployment](), controller.Watches[corev1.Pod](handler.Map(byApp))); err != nil {
		t.Fatal(err)
	}
	stop := ran(t, m)
	until(t, counted, "1 pod", func(n int) bool { return n == 1 })
	if err := stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if a.count("GET /api/v1/namespaces/web/pods/p1") == 0 || a.count("GET /api/v1/namespaces/web/secrets") < 2 {
		t.Error("the server was not asked")
	}
}
