package controller_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/reconcile"
)

// east is the manager of another cluster. Its Deployments have no namespaces, so that its mapper shows.
type east struct{ *manager }

func (east) Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeRoot)
	return mapper
}

// The sources of a controller watch in their own clusters, and owners are found by the mapper of that cluster.
func TestSourcesOfAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, other, seen := newManager(), east{newManager()}, make(chan string, 10)
		r := func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			seen <- req.String()
			return reconcile.Result{}, nil
		}
		c := newController(t, m, r, controller.Options{},
			controller.For[appsv1.Deployment](), controller.Watches[corev1.Node](handler.Self()),
			controller.Watches[corev1.Pod](handler.Owner[appsv1.Deployment](handler.Any)).From(other),
			controller.Owns[corev1.Pod]().From(m))
		for in, want := range map[controller.Manager][]string{nil: {"Deployment", "Node", "Pod"}, m: {"Deployment", "Node", "Pod"}, other: {"Pod"}} {
			var got []string
			for _, k := range c.Kinds(in) {
				got = append(got, k.GetObjectKind().GroupVersionKind().Kind)
			}
			if !slices.Equal(got, want) {
				t.Errorf("kinds %q in %T, want %q", got, in, want)
			}
		}
		stop := start(c)
		for _, kind := range []string{"Deployment", "Node", "Pod"} {
			close(m.watch(kind).synced)
		}
		synctest.Wait()
		if s := c.State(); s.Phase != controller.Syncing {
			t.Errorf("%v without the objects of the other cluster", s)
		}
		close(other.watch("Pod").synced)
		synctest.Wait()
		m.watch("Pod").set(pod("a", 1, "ours"), false)
		if got := <-seen; got != "web/ours" {
			t.Errorf("request %s", got)
		}
		other.watch("Pod").set(pod("a", 1, "theirs"), false)
		if got := <-seen; got != "theirs" {
			t.Errorf("request %s, which the mapper of the other cluster says has no namespace", got)
		}
		stop()
		if len(seen) > 0 {
			t.Errorf("another request: %s", <-seen)
		}
	})
}

func TestOnlyWatchesAreFromACluster(t *testing.T) {
	feed := func(context.Context, func(reconcile.Request)) error { return nil }
	_, err := controller.New(newManager(), "c", new(recorder).Reconcile, forDeployments(), controller.Requests(feed).From(newManager()))
	if err == nil || !strings.HasSuffix(err.Error(), "Requests: From is for watches: this source belongs to no cluster") {
		t.Errorf("%v", err)
	}
}
