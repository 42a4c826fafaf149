package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"go.uber.org/goleak"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/plane"
	"github.com/flyball-io/flyball/plane/planetest"
	"github.com/flyball-io/flyball/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(planetest.Wrap(m)) }

// live is a client for the shared control plane and a namespace for the test. Every request must
// end well within a minute.
func live(t *testing.T) (context.Context, *client.Live, string) {
	t.Helper()
	p := planetest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx, newClient(t, p.RESTConfig(), client.Options{}), planetest.Namespace(t, p)
}

func newClient(t *testing.T, cfg *rest.Config, o client.Options) *client.Live {
	t.Helper()
	c, err := client.New(cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func configMap(ns, name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": "x"}}, Data: data}
}

func deployment(ns, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none.test/none"}}},
			},
		},
	}
}

func as[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got %T %v, want %T", err, err, e)
	}
	return e
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestLiveCheck(t *testing.T) {
	p := planetest.Shared(t)
	if err := newClient(t, p.RESTConfig(), client.Options{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
	cfg := must(client.Config(client.ConfigOptions{Kubeconfig: p.KubeconfigPath()}))(t)
	if err := newClient(t, cfg, client.Options{}).Check(t.Context()); err != nil {
		t.Errorf("by its kubeconfig: %v", err)
	}
	anonymous := rest.AnonymousClientConfig(p.RESTConfig())
	anonymous.BearerToken = "nonsense"
	as[*client.Unauthorized](t, newClient(t, anonymous, client.Options{}).Check(t.Context()))
}

func TestLiveCRUD(t *testing.T) {
	ctx, c, ns := live(t)
	in := configMap(ns, "a", map[string]string{"k": "1"})
	made := must(client.Create(ctx, c, in))(t)
	if made.UID == "" || made.ResourceVersion == "" || made.Kind != "ConfigMap" || in.UID != "" {
		t.Fatalf("created %+v from %+v", made.ObjectMeta, in.ObjectMeta)
	}
	err := func() error { _, err := client.Create(ctx, c, in); return err }()
	if e := as[*client.AlreadyExists](t, err); e.Key.Name != "a" || !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v", err)
	}

	made.Data["k"] = "2"
	changed := must(client.Update(ctx, c, made))(t)
	if changed.Data["k"] != "2" || changed.ResourceVersion == made.ResourceVersion {
		t.Errorf("updated to %+v", changed)
	}
	_, err = client.Update(ctx, c, made)
	if as[*client.Conflict](t, err); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}

	got := must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(in)))(t)
	if got.ResourceVersion != changed.ResourceVersion {
		t.Errorf("read version %s, wrote %s", got.ResourceVersion, changed.ResourceVersion)
	}
	other := configMap(ns, "a", nil)
	as[*client.Conflict](t, client.Delete(ctx, c, other, client.IfUID("other")))
	as[*client.Conflict](t, client.Delete(ctx, c, other, client.IfVersion(made.ResourceVersion)))
	if err := client.Delete(ctx, c, other, client.DryRun{}); err != nil {
		t.Error(err)
	}
	if err := client.Delete(ctx, c, other, client.IfUID(made.UID), client.IfVersion(changed.ResourceVersion), client.Background); err != nil {
		t.Fatal(err)
	}
	_, err = client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(in))
	if e := as[*client.NotFound](t, err); e.Resource.Resource != "configmaps" || e.Key != object.KeyOf(in) || !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	as[*client.NotFound](t, client.Delete(ctx, c, in))

	gen := configMap(ns, "", nil)
	gen.GenerateName = "gen-"
	if made := must(client.Create(ctx, c, gen))(t); len(made.Name) <= len("gen-") {
		t.Errorf("generated name %q", made.Name)
	}
	if _, err := client.Create(ctx, c, configMap("absent-"+ns, "a", nil)); !apierrors.IsNotFound(err) {
		t.Errorf("in an absent namespace: %v", err)
	}
	dry := must(client.Create(ctx, c, configMap(ns, "dry", nil), client.DryRun{}))(t)
	if _, err := client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(dry)); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run was kept: %v", err)
	}
}

func TestLiveInvalid(t *testing.T) {
	ctx, c, ns := live(t)
	d := deployment(ns, "Not_A_Name", 1)
	d.Spec.Template.Labels = nil
	_, err := client.Create(ctx, c, d)
	e := as[*client.Invalid](t, err)
	var paths []string
	for _, f := range e.Fields {
		paths = append(paths, f.Path)
	}
	if !slices.Contains(paths, "metadata.name") || !slices.Contains(paths, "spec.template.metadata.labels") || !apierrors.IsInvalid(err) {
		t.Errorf("fields %q of %v", paths, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "u", "namespace": ns}, "nonsense": "x",
	}}
	_, err = client.Create(ctx, c, u, client.Strict)
	as[*client.Rejected](t, err)
	if _, err := client.Create(ctx, c, u); err != nil {
		t.Errorf("unknown fields are dropped by default: %v", err)
	}
}

func TestLiveForms(t *testing.T) {
	ctx, c, ns := live(t)
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	must(client.Create(ctx, c, configMap(ns, "a", map[string]string{"k": "1"})))(t)
	key := object.Key{Namespace: ns, Name: "a"}

	u := must(client.Get[unstructured.Unstructured](ctx, c, key, client.OfKind(gvk)))(t)
	if s, _, _ := unstructured.NestedString(u.Object, "data", "k"); s != "1" || u.GroupVersionKind() != gvk {
		t.Errorf("unstructured: %v", u)
	}
	if err := unstructured.SetNestedField(u.Object, "2", "data", "k"); err != nil {
		t.Fatal(err)
	}
	u = must(client.Update(ctx, c, u))(t)

	m := must(client.Get[metav1.PartialObjectMetadata](ctx, c, key, client.OfKind(gvk)))(t)
	if m.ResourceVersion != u.GetResourceVersion() || m.GroupVersionKind() != gvk || m.Labels["app"] != "x" {
		t.Errorf("metadata: %v", m)
	}
	after := m.DeepCopy()
	after.Labels["app"] = "y"
	m = must(client.Patch(ctx, c, after, client.DiffWithLock(m, after)))(t)
	if m.Labels["app"] != "y" {
		t.Errorf("patched metadata: %v", m)
	}
	var got []string
	for m, err := range client.List[metav1.PartialObjectMetadata](ctx, c, client.OfKind(gvk), client.InNamespace(ns), client.MatchingLabels{"app": "y"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Name)
	}
	for u, err := range client.List[unstructured.Unstructured](ctx, c, client.OfKind(gvk), client.InNamespace(ns), client.MatchingFields{"metadata.name": "a"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, u.GetName())
	}
	if !slices.Equal(got, []string{"a", "a"}) {
		t.Errorf("listed %v", got)
	}
	if err := client.Delete(ctx, c, m); err != nil {
		t.Error(err)
	}
}

func TestLivePatches(t *testing.T) {
	ctx, c, ns := live(t)
	cm := must(client.Create(ctx, c, configMap(ns, "a", map[string]string{"k": "1", "gone": "x"})))(t)
	for name, p := range map[string]client.PatchData{
		"json":      client.JSONPatch(`[{"op":"add","path":"/data/json","value":"y"}]`),
		"merge":     client.MergePatch(map[string]any{"data": map[string]any{"merge": "y", "gone": nil}}),
		"strategic": client.StrategicMerge(`{"data":{"strategic":"y"}}`),
	} {
		got := must(client.Patch(ctx, c, cm, p))(t)
		if got.Data[name] != "y" {
			t.Errorf("%s: %v", name, got.Data)
		}
	}
	// cm is old by now: without a lock its difference goes in, with one it does not.
	after := cm.DeepCopy()
	after.Data["k"] = "2"
	_, err := client.Patch(ctx, c, cm, client.DiffWithLock(cm, after))
	as[*client.Conflict](t, err)
	got := must(client.Patch(ctx, c, cm, client.Diff(cm, after)))(t)
	if got.Data["k"] != "2" || got.Data["json"] != "y" || got.Data["gone"] != "" {
		t.Errorf("got %v", got.Data)
	}
	_, err = client.Patch(ctx, c, cm, client.JSONPatch(`[{"op":"test","path":"/data/k","value":"9"}]`))
	as[*client.Invalid](t, err)
	_, err = client.Patch(ctx, c, configMap(ns, "absent", nil), client.MergePatch(`{}`))
	as[*client.NotFound](t, err)
}

func TestLiveApply(t *testing.T) {
	ctx, c, ns := live(t)
	d := must(client.Apply(ctx, c, deployment(ns, "d", 1), "one"))(t)
	for _, f := range d.ManagedFields {
		if f.Manager != "one" && f.Operation == metav1.ManagedFieldsOperationApply {
			t.Errorf("owned by %s", f.Manager)
		}
	}
	want := deployment(ns, "d", 2)
	_, err := client.Apply(ctx, c, want, "two")
	e := as[*client.Conflict](t, err)
	if len(e.Fields) == 0 || e.Fields[0].Path != ".spec.replicas" {
		t.Errorf("conflict of %+v", e.Fields)
	}
	d = must(client.Apply(ctx, c, want, "two", client.Force{}))(t)
	if *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	// A typed apply owns what it says and no more.
	for _, f := range d.ManagedFields {
		if f.Manager != "two" {
			continue
		}
		for _, never := range []string{"f:status", "f:creationTimestamp", "f:uid"} {
			if slices.Contains(fieldNames(f.FieldsV1), never) {
				t.Errorf("two owns %s", never)
			}
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "u", "namespace": ns}, "data": map[string]any{"a": "1", "b": "2"},
	}}
	must(client.Apply(ctx, c, u, "one"))(t)
	unstructured.RemoveNestedField(u.Object, "data", "b")
	u = must(client.Apply(ctx, c, u, "one"))(t)
	if data, _, _ := unstructured.NestedStringMap(u.Object, "data"); !maps.Equal(data, map[string]string{"a": "1"}) {
		t.Errorf("what is no longer applied stays: %v", data)
	}
	delete(u.Object["metadata"].(map[string]any), "managedFields")
	u.Object["nonsense"] = "x"
	_, err = client.Apply(ctx, c, u, "one")
	if err == nil {
		t.Error("an unknown field was applied")
	}
}

// fieldNames are all names in a set of managed fields.
func fieldNames(f *metav1.FieldsV1) (all []string) {
	var walk func(v any)
	walk = func(v any) {
		m, _ := v.(map[string]any)
		for k, v := range m {
			all = append(all, k)
			walk(v)
		}
	}
	var top map[string]any
	if err := json.Unmarshal(f.Raw, &top); err == nil {
		walk(top)
	}
	return all
}

func TestLiveListAndDeleteAll(t *testing.T) {
	ctx, c, ns := live(t)
	var want []string
	var wg sync.WaitGroup
	for i := range 23 {
		name := fmt.Sprintf("c-%02d", i)
		want = append(want, name)
		wg.Go(func() {
			if _, err := client.Create(ctx, c, configMap(ns, name, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, limit := range []client.Limit{1, 5, 23, 500, -1} {
		var got []string
		for cm, err := range client.List[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app in (x)"), limit) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, cm.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v", limit, got)
		}
	}
	page := must(client.ListPage[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app"), client.Limit(10)))(t)
	if len(page.Items) != 10 || page.Continue == "" || page.ResourceVersion == "" {
		t.Errorf("page of %d, %q, %q", len(page.Items), page.Continue, page.ResourceVersion)
	}
	page = must(client.ListPage[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app"), client.Continue(page.Continue)))(t)
	if len(page.Items) != 13 || page.Remaining != 0 {
		t.Errorf("the rest is %d", len(page.Items))
	}
	_, err := client.ListPage[corev1.ConfigMap](ctx, c, client.Continue("nonsense"))
	as[*client.Rejected](t, err)
	_, err = client.ListPage[corev1.ConfigMap](ctx, c, client.FieldSelector("data.k=1"))
	as[*client.Rejected](t, err)
	_, err = client.ListPage[corev1.ConfigMap](ctx, c, client.AtVersion("999999999999"))
	if !client.IsTooLarge(err) {
		t.Errorf("a version of the future: %v", err)
	}

	if err := client.DeleteAll[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app=x")); err != nil {
		t.Fatal(err)
	}
	for cm, err := range client.List[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app")) {
		t.Errorf("left over: %v, %v", cm, err)
	}
}

func TestLiveSubresources(t *testing.T) {
	ctx, c, ns := live(t)
	d := must(client.Create(ctx, c, deployment(ns, "d", 0)))(t)
	if err := client.SetScale(ctx, c, d, 2); err != nil {
		t.Fatal(err)
	}
	s := must(client.GetScale(ctx, c, d))(t)
	if s.Spec.Replicas != 2 || s.Status.Selector != "app=d" {
		t.Errorf("scale %+v", s)
	}
	s.Spec.Replicas, s.ResourceVersion = 0, ""
	s = must(client.UpdateSub(ctx, c, d, "scale", s))(t)
	if s.Spec.Replicas != 0 {
		t.Errorf("scale %+v", s)
	}
	as[*client.NotFound](t, client.SetScale(ctx, c, deployment(ns, "absent", 0), 1))
	as[*client.NotServed](t, client.SetScale(ctx, c, configMap(ns, "a", nil), 1))
	must(client.GetSub[autoscalingv1.Scale](ctx, c, d, "scale"))(t)

	// The status is written apart from the rest.
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
	once := newClient(t, planetest.Shared(t).RESTConfig(), client.Options{Retries: -1})
	must(client.PatchStatus(ctx, c, p, client.MergePatch(`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}`)))(t)
	as[*client.TooManyRequests](t, client.Evict(ctx, once, p))
	if err := client.Delete(ctx, c, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := client.Evict(ctx, c, p, client.GraceSeconds(0)); err != nil {
		t.Error(err)
	}
}

func pod(ns, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		// No scheduler knows this name, so that nobody else touches the Pod.
		Spec: corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "c", Image: "none.test/none"}}},
	}
}

func TestLiveForbidden(t *testing.T) {
	ctx, c, ns := live(t)
	p := planetest.Shared(t)
	reader := newClient(t, must(p.UserConfig("reader", "readers"))(t), client.Options{})
	meta := metav1.ObjectMeta{Namespace: ns, Name: "read-pods"}
	must(client.Create(ctx, c, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "watch"}}}}))(t)
	must(client.Create(ctx, c, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "read-pods"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "reader"}},
	}))(t)

	err := client.SetScale(ctx, reader, deployment(ns, "d", 0), 1)
	e := as[*client.Forbidden](t, err)
	if e.User != "reader" || e.Verb != "patch" || e.Resource.Group != "apps" || e.Resource.Resource != "deployments" || e.Subresource != "scale" || e.Key.Namespace != ns || e.Key.Name != "d" {
		t.Errorf("got %+v", e.Call)
	}
	if !apierrors.IsForbidden(err) {
		t.Errorf("got %v", err)
	}
	for _, err := range client.List[corev1.Pod](ctx, reader) {
		as[*client.Forbidden](t, err)
	}
	_, err = client.Watch[corev1.ConfigMap](ctx, reader, client.InNamespace(ns))
	as[*client.Forbidden](t, err)
	_, err = reader.Feed(corev1.SchemeGroupVersion.WithKind("Secret"), client.FeedOptions{}).Watch(ctx, client.WatchQuery{})
	as[*client.Forbidden](t, err)

	// What it may do comes through as soon as the authorizer has seen the role.
	feed := reader.Feed(corev1.SchemeGroupVersion.WithKind("Pod"), client.FeedOptions{Namespace: ns})
	w := untilAllowed(t, ctx, func() (*wire.Watch, error) { return feed.Watch(ctx, client.WatchQuery{SendInitialEvents: true}) })
	defer w.Close()
}

// untilAllowed tries until RBAC, which the server reads from its own watch, lets the call through.
func untilAllowed[R any](t *testing.T, ctx context.Context, call func() (R, error)) R {
	t.Helper()
	for {
		r, err := call()
		if _, ok := errors.AsType[*client.Forbidden](err); !ok || ctx.Err() != nil {
			return must(r, err)(t)
		}
	}
}

func TestLiveWatch(t *testing.T) {
	ctx, c, ns := live(t)
	must(client.Create(ctx, c, configMap(ns, "a", nil)))(t)
	w := must(client.Watch[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.MatchingLabels{"app": "x"}))(t)
	defer w.Stop()
	var seen []string
	for ev, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == wire.Bookmark {
			continue
		}
		seen = append(seen, ev.Type.String()+" "+ev.Object.Name)
		switch len(seen) {
		case 1:
			must(client.Patch(ctx, c, ev.Object, client.MergePatch(`{"data":{"k":"1"}}`)))(t)
		case 2:
			if err := client.Delete(ctx, c, ev.Object); err != nil {
				t.Fatal(err)
			}
		case 3:
			w.Stop()
		}
	}
	if want := []string{"ADDED a", "MODIFIED a", "DELETED a"}; !slices.Equal(seen, want) {
		t.Errorf("saw %v", seen)
	}

	w = must(client.Watch[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.AtVersion("1")))(t)
	for _, err := range w.Events() {
		if err != nil && !client.IsExpired(err) {
			t.Errorf("from version 1: %v", err)
		}
		break
	}
	w.Stop()
}

// The three forms come in the encoding that was asked for.
func TestLiveFeed(t *testing.T) {
	ctx, c, ns := live(t)
	for i := range 5 {
		must(client.Create(ctx, c, configMap(ns, fmt.Sprintf("c-%d", i), nil)))(t)
	}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	widget := widgets(t, ctx, c)
	must(client.Create(ctx, c, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "flyball.test/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": ns},
	}}))(t)
	for _, tt := range []struct {
		name string
		gvk  schema.GroupVersionKind
		o    client.FeedOptions
		want wire.Encoding
	}{
		{"whole", gvk, client.FeedOptions{Namespace: ns}, wire.Protobuf},
		{"metadata", gvk, client.FeedOptions{Namespace: ns, Metadata: true}, wire.Protobuf},
		{"custom", widget, client.FeedOptions{Namespace: ns}, wire.JSON},
		{"custom metadata", widget, client.FeedOptions{Namespace: ns, Metadata: true}, wire.Protobuf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			feed := c.Feed(tt.gvk, tt.o)
			var listed []string
			q := client.ListQuery{Limit: 2}
			for more := true; more; more = q.Continue != "" {
				l := must(feed.List(ctx, q))(t)
				for {
					raw, err := l.Next()
					if err == io.EOF {
						break
					}
					h := must(must(raw, err)(t).Header())(t)
					listed = append(listed, h.Name)
					if raw.Encoding != tt.want {
						t.Errorf("%s is %v", h.Name, raw.Encoding)
					}
				}
				q.Continue = l.Meta().Continue
				l.Close()
			}
			w := must(feed.Watch(ctx, client.WatchQuery{SendInitialEvents: true, Timeout: 30 * time.Second}))(t)
			defer w.Close()
			var watched []string
			for {
				f := must(w.Next())(t)
				if f.InitialEventsEnd {
					break
				}
				if f.Type == wire.Added {
					watched = append(watched, must(f.Object.Header())(t).Name)
				}
			}
			slices.Sort(watched)
			if len(listed) == 0 || !slices.Equal(listed, watched) {
				t.Errorf("listed %v, watched %v", listed, watched)
			}
		})
	}
}

// widgets makes a custom resource and returns its kind once the server serves it.
func widgets(t *testing.T, ctx context.Context, c *client.Live) schema.GroupVersionKind {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "flyball.test", Version: "v1", Kind: "Widget"}
	feed := c.Feed(gvk, client.FeedOptions{})
	if _, err := feed.List(ctx, client.ListQuery{}); err != nil {
		as[*client.NotServed](t, err)
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets.flyball.test"},
		"spec": map[string]any{
			"group": "flyball.test", "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	made := must(client.Apply(ctx, c, crd, "test"))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := client.Delete(ctx, c, made); err != nil {
			t.Error(err)
		}
	})
	w := must(client.Watch[unstructured.Unstructured](ctx, c, client.OfKind(made.GroupVersionKind()), client.MatchingFields{"metadata.name": made.GetName()}))(t)
	for ev, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Object != nil && established(ev.Object) {
			break
		}
	}
	for {
		// The server announces a kind a moment after it has established it.
		l, err := feed.List(ctx, client.ListQuery{})
		if err == nil {
			l.Close()
			return gvk
		}
		_, absent := errors.AsType[*client.NotServed](err)
		_, busy := errors.AsType[*client.TooManyRequests](err)
		if !absent && !busy || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// A server that goes away and comes back: typed errors meanwhile, and the same client goes on.
func TestLiveRestart(t *testing.T) {
	p := planetest.Private(t, plane.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := newClient(t, p.RESTConfig(), client.Options{})
	made := must(client.Create(ctx, c, configMap("default", "a", nil)))(t)
	w := must(client.Watch[corev1.ConfigMap](ctx, c, client.InNamespace("default"), client.AtVersion(made.ResourceVersion)))(t)
	p.Kill()
	var last error
	for _, err := range w.Events() {
		last = err
	}
	if last == nil {
		t.Error("the watch ended without an error")
	}
	if _, err := client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(made)); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("while it is down: %v", err)
	}
	as[*client.Unavailable](t, c.Check(ctx))
	if err := p.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	got := must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(made)))(t)
	if got.UID != made.UID {
		t.Errorf("got %v", got.ObjectMeta)
	}
}
