package flyball

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// The rule of Manager.Client: the cache answers reads of the kinds that it holds, and the server reads of all
// others. No answer is empty for lack of knowledge. The cache itself refuses kinds that nobody has opened.
func TestTheServerAnswersReadsOfKindsThatNobodyOpened(t *testing.T) {
	a := newAPI(t)
	a.put("deployments", testobj.Deployment("web/shop"))
	a.put("secrets", &corev1.Secret{ObjectMeta: testobj.Deployment("web/s").ObjectMeta})
	var live atomic.Int32
	log := make(lines, 1000)
	m := a.manager(t, Options{
		Cache:      cache.Options{Namespaces: []string{"web"}},
		OnLiveRead: func(schema.GroupVersionKind) { live.Add(1) },
		Logger:     slog.New(slog.NewTextHandler(log, nil)),
	})
	h, err := m.Cache().Open(t.Context(), &appsv1.Deployment{}, client.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	shop, secret := object.Key{Namespace: "web", Name: "shop"}, object.Key{Namespace: "web", Name: "s"}

	if _, err := client.Get[appsv1.Deployment](t.Context(), m.Client(), shop); !errors.Is(err, object.ErrNoAnswer) {
		t.Errorf("held, and not synced: %v", err)
	}
	if _, err := client.ListPage[appsv1.Deployment](t.Context(), m.Client(), client.InNamespace("web")); !errors.Is(err, object.ErrNoAnswer) {
		t.Errorf("list, held, and not synced: %v", err)
	}
	ran(t, m)
	if err := m.Cache().WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, err := client.Get[appsv1.Deployment](t.Context(), m.Client(), shop); err != nil || d.Name != "shop" {
		t.Errorf("held: %v", err)
	}
	if _, err := client.Get[appsv1.Deployment](t.Context(), m.Client(), object.Key{Namespace: "other", Name: "shop"}); !errors.Is(err, object.ErrNoAnswer) {
		t.Errorf("held, of another namespace: %v", err)
	}
	if n := live.Load(); n != 0 || a.count("GET /apis/apps/v1/namespaces/web/deployments/") != 0 {
		t.Errorf("%d reads of a kind that is held went to the server", n)
	}

	if s, err := client.Get[corev1.Secret](t.Context(), m.Client(), secret); err != nil || s.Name != "s" || live.Load() != 1 {
		t.Errorf("not held: %v; %d live reads", err, live.Load())
	}
	if page, err := client.ListPage[corev1.Secret](t.Context(), m.Client(), client.InNamespace("web")); err != nil || len(page.Items) != 1 || live.Load() != 2 {
		t.Errorf("list, not held: %v; %d live reads", err, live.Load())
	}
	if _, err := client.Get[corev1.Secret](t.Context(), m.Client(), object.Key{Namespace: "web", Name: "no"}); err == nil || live.Load() != 3 {
		t.Errorf("not held, and not there: %v; %d live reads", err, live.Load())
	}
	if _, err := client.Get[corev1.Secret](t.Context(), m.Cache(), secret); !is[*cache.UndeclaredError](err) || live.Load() != 3 {
		t.Errorf("by the cache: %v; %d live reads", err, live.Load())
	}
	said := 0
	for len(log) > 0 {
		if line := <-log; strings.Contains(line, "the server answers reads") && strings.Contains(line, "Secret") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the log has %d lines of reads by the server, want one for the kind", said)
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
