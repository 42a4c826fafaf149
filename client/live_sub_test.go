package client_test

import (
	"context"
	"errors"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestSubresourcesAreReadAndWritten(t *testing.T) {
	ctx, c, ns := live(t)
	d := must(client.Create(ctx, c, deployment(ns, "d", 0)))(t)
	if err := client.SetScale(ctx, c, d, 2); err != nil {
		t.Fatal(err)
	}
	s := must(client.GetSub[autoscalingv1.Scale](ctx, c, d, "scale"))(t)
	if s.Spec.Replicas != 2 || s.Status.Selector != "app=d" {
		t.Errorf("scale %+v", s)
	}
	s.Spec.Replicas, s.ResourceVersion = 0, ""
	s = must(client.UpdateSub(ctx, c, d, "scale", s))(t)
	if s.Spec.Replicas != 0 {
		t.Errorf("scale %+v", s)
	}
	as[*client.NotFoundError](t, client.SetScale(ctx, c, deployment(ns, "absent", 0), 1))
	as[*client.NotServedError](t, client.SetScale(ctx, c, configMap(ns, "a"), 1))
	must(client.GetSub[autoscalingv1.Scale](ctx, c, d, "scale"))(t)

	// UpdateStatus writes the status and nothing else.
	p := must(client.Create(ctx, c, pod(ns, "p")))(t)
	p.Spec.Containers[0].Image = "other.test/other"
	p.Status.Message = "hello"
	p.ResourceVersion = ""
	got := must(client.UpdateStatus(ctx, c, p))(t)
	if got.Status.Message != "hello" || got.Spec.Containers[0].Image != "none.test/none" {
		t.Errorf("status %q, spec %v", got.Status.Message, got.Spec.Containers)
	}
	got = must(client.PatchStatus(ctx, c, p, client.MergePatch(`{"status":{"message":"bye"}}`)))(t)
	if got.Status.Message != "bye" {
		t.Errorf("status %q", got.Status.Message)
	}
	got = must(client.Get[corev1.Pod](ctx, c, object.KeyOf(p), client.Sub("status")))(t)
	if got.Status.Message != "bye" {
		t.Errorf("status %q", got.Status.Message)
	}

	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "default"}}
	tr := must(client.CreateSub(ctx, c, sa, "token", &authenticationv1.TokenRequest{}))(t)
	if tr.Status.Token == "" {
		t.Error("no token")
	}

	// A budget that allows nothing refuses the eviction.
	p.Labels = map[string]string{"guarded": "yes"}
	must(client.Patch(ctx, c, p, client.MergePatch(`{"metadata":{"labels":{"guarded":"yes"}}}`)))(t)
	none := intstr.FromInt32(0)
	must(client.Create(ctx, c, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: p.Labels}},
	}))(t)
	once := newClient(t, servertest.Shared(t).RESTConfig(), client.Options{Retries: -1})
	must(client.PatchStatus(ctx, c, p, client.MergePatch(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)))(t)
	now := int64(0)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: p.Name}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &now}}
	_, err := client.CreateSub(ctx, once, p, "eviction", eviction)
	as[*client.TooManyRequestsError](t, err)
	if err := client.Delete(ctx, c, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateSub(ctx, c, p, "eviction", eviction); err != nil {
		t.Error(err)
	}
}

func pod(ns, name string) *corev1.Pod {
	p := testobj.Pod(ns + "/" + name)
	// No scheduler has this name, so nothing else changes the Pod.
	p.Spec = corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "none.test/none"}}}
	return p
}

func TestForbiddenErrorNamesThePermission(t *testing.T) {
	ctx, c, ns := live(t)
	p := servertest.Shared(t)
	reader := newClient(t, must(p.UserConfig("reader", "readers"))(t), client.Options{})
	meta := metav1.ObjectMeta{Namespace: ns, Name: "read-pods"}
	must(client.Create(ctx, c, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}}}))(t)
	must(client.Create(ctx, c, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read-pods"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	}))(t)

	err := client.SetScale(ctx, reader, deployment(ns, "d", 0), 1)
	e := as[*client.ForbiddenError](t, err)
	if e.User != "reader" || e.Verb != "patch" || e.Resource.Group != "apps" || e.Resource.Resource != "deployments" || e.Subresource != "scale" || e.Key.Namespace != ns || e.Key.Name != "d" {
		t.Errorf("got %+v", e.Call)
	}
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	for _, err := range client.List[corev1.Pod](ctx, reader) {
		as[*client.ForbiddenError](t, err)
	}
	_, err = client.Watch[corev1.ConfigMap](ctx, reader, client.InNamespace(ns))
	as[*client.ForbiddenError](t, err)
	_, err = reader.Feed(corev1.SchemeGroupVersion.WithKind("Secret"), client.Selection{}).Watch(ctx, wire.WatchQuery{})
	as[*client.ForbiddenError](t, err)

	// A permitted call succeeds when the authorizer has seen the role.
	feed := reader.Feed(corev1.SchemeGroupVersion.WithKind("Pod"), client.Selection{Namespace: ns})
	w := untilAllowed(t, ctx, func() (*wire.Watch, error) { return feed.Watch(ctx, wire.WatchQuery{}) })
	defer w.Close()
}

// untilAllowed retries until RBAC permits the call: the server reads roles from its own watch.
func untilAllowed[R any](t *testing.T, ctx context.Context, call func() (R, error)) R {
	t.Helper()
	for {
		r, err := call()
		if _, ok := errors.AsType[*client.ForbiddenError](err); !ok || ctx.Err() != nil {
			return must(r, err)(t)
		}
	}
}

// A create in a namespace that is being deleted fails, and the Status says why. Finalizers can be
// removed.
func TestLiveTerminatingNamespace(t *testing.T) {
	ctx, c, ns := live(t)
	held := configMap(ns, "held")
	held.Finalizers = []string{"flyball.test/hold"}
	held = must(client.Create(ctx, c, held))(t)
	if err := client.Delete(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}); err != nil {
		t.Fatal(err)
	}
	_, err := client.Create(ctx, c, configMap(ns, "late"))
	if as[*client.ForbiddenError](t, err); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("got %v", err)
	}
	before := must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(held)))(t)
	after := before.DeepCopy()
	after.Finalizers = nil
	must(client.Patch(ctx, c, before, client.Diff(before, after)))(t)
}
