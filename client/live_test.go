package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

// live is a client for the shared control plane and a namespace for the test. Every request must
// end well within five minutes.
func live(t *testing.T) (context.Context, *client.Live, string) {
	t.Helper()
	p := servertest.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx, newClient(t, p.RESTConfig(), client.Options{}), servertest.Namespace(t, p)
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

func configMap(ns, name string, opts ...testobj.Option) *corev1.ConfigMap {
	return testobj.ConfigMap(ns+"/"+name, append(opts, testobj.Labels("app=x"))...)
}

func deployment(ns, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := testobj.Deployment(ns + "/" + name)
	d.Spec = appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none.test/none"}}},
		},
	}
	return d
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

func TestCheckNeedsValidCredentials(t *testing.T) {
	p := servertest.Shared(t)
	if err := newClient(t, p.RESTConfig(), client.Options{}).Check(t.Context()); err != nil {
		t.Error(err)
	}
	cfg := must(client.Config(client.ConfigOptions{Kubeconfig: p.KubeconfigPath()}))(t)
	if err := newClient(t, cfg, client.Options{}).Check(t.Context()); err != nil {
		t.Errorf("by its kubeconfig: %v", err)
	}
	anonymous := rest.AnonymousClientConfig(p.RESTConfig())
	anonymous.BearerToken = "nonsense"
	as[*client.UnauthorizedError](t, newClient(t, anonymous, client.Options{}).Check(t.Context()))
}

func TestObjectIsCreatedReadUpdatedAndDeleted(t *testing.T) {
	ctx, c, ns := live(t)
	in := configMap(ns, "a", testobj.Data("k", "1"))
	made := must(client.Create(ctx, c, in))(t)
	if made.UID == "" || made.ResourceVersion == "" || made.Kind != "ConfigMap" || in.UID != "" {
		t.Fatalf("created %+v from %+v", made.ObjectMeta, in.ObjectMeta)
	}
	err := func() error { _, err := client.Create(ctx, c, in); return err }()
	if e := as[*client.AlreadyExistsError](t, err); e.Key.Name != "a" || !apierrors.IsAlreadyExists(err) {
		t.Errorf("got %v", err)
	}

	made.Data["k"] = "2"
	changed := must(client.Update(ctx, c, made))(t)
	if changed.Data["k"] != "2" || changed.ResourceVersion == made.ResourceVersion {
		t.Errorf("updated to %+v", changed)
	}
	_, err = client.Update(ctx, c, made)
	if as[*client.ConflictError](t, err); !apierrors.IsConflict(err) {
		t.Errorf("got %v", err)
	}

	got := must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(in)))(t)
	if got.ResourceVersion != changed.ResourceVersion {
		t.Errorf("read version %s, wrote %s", got.ResourceVersion, changed.ResourceVersion)
	}
	other := configMap(ns, "a")
	as[*client.ConflictError](t, client.Delete(ctx, c, other, client.IfUID("other")))
	as[*client.ConflictError](t, client.Delete(ctx, c, other, client.DeleteOptions{Preconditions: metav1.NewRVDeletionPrecondition(made.ResourceVersion).Preconditions}))
	if err := client.Delete(ctx, c, other, client.DryRun{}); err != nil {
		t.Error(err)
	}
	if err := client.Delete(ctx, c, other, client.IfUID(made.UID), client.DeleteOptions{
		Preconditions: metav1.NewRVDeletionPrecondition(changed.ResourceVersion).Preconditions, PropagationPolicy: new(metav1.DeletePropagationBackground),
	}); err != nil {
		t.Fatal(err)
	}
	_, err = client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(in))
	if e := as[*client.NotFoundError](t, err); e.Resource.Resource != "configmaps" || e.Key != object.KeyOf(in) || !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	as[*client.NotFoundError](t, client.Delete(ctx, c, in))

	gen := configMap(ns, "")
	gen.GenerateName = "gen-"
	if made := must(client.Create(ctx, c, gen))(t); len(made.Name) <= len("gen-") {
		t.Errorf("generated name %q", made.Name)
	}
	_, err = client.Create(ctx, c, configMap("absent-"+ns, "a"))
	if e := as[*client.MissingError](t, err); e.Object.Resource != "namespaces" || e.Name != "absent-"+ns || client.IgnoreNotFound(err) == nil {
		t.Errorf("in an absent namespace: %v", err)
	}
	dry := must(client.Create(ctx, c, configMap(ns, "dry"), client.DryRun{}))(t)
	if _, err := client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(dry)); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run was kept: %v", err)
	}
}

func TestInvalidErrorNamesTheFields(t *testing.T) {
	ctx, c, ns := live(t)
	d := deployment(ns, "Not_A_Name", 1)
	d.Spec.Template.Labels = nil
	_, err := client.Create(ctx, c, d)
	e := as[*client.InvalidError](t, err)
	var paths []string
	for _, f := range e.Fields {
		paths = append(paths, f.Field)
	}
	if !slices.Contains(paths, "metadata.name") || !slices.Contains(paths, "spec.template.metadata.labels") || !apierrors.IsInvalid(err) {
		t.Errorf("fields %q of %v", paths, err)
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "u", "namespace": ns}, "nonsense": "x",
	}}
	_, err = client.Create(ctx, c, u, client.FieldValidation(metav1.FieldValidationStrict))
	as[*client.RejectedError](t, err)
	if _, err := client.Create(ctx, c, u); err != nil {
		t.Errorf("unknown fields are dropped by default: %v", err)
	}
}

func TestFormsOfAnObjectAgree(t *testing.T) {
	ctx, c, ns := live(t)
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	must(client.Create(ctx, c, configMap(ns, "a", testobj.Data("k", "1"))))(t)
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

func TestServerTakesEachFormOfPatch(t *testing.T) {
	ctx, c, ns := live(t)
	cm := must(client.Create(ctx, c, configMap(ns, "a", testobj.Data("k", "1"), testobj.Data("gone", "x"))))(t)
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
	// cm is stale: its difference is written without a lock, and refused with one.
	after := cm.DeepCopy()
	after.Data["k"] = "2"
	_, err := client.Patch(ctx, c, cm, client.DiffWithLock(cm, after))
	as[*client.ConflictError](t, err)
	got := must(client.Patch(ctx, c, cm, client.Diff(cm, after)))(t)
	if got.Data["k"] != "2" || got.Data["json"] != "y" || got.Data["gone"] != "" {
		t.Errorf("got %v", got.Data)
	}
	_, err = client.Patch(ctx, c, cm, client.JSONPatch(`[{"op":"test","path":"/data/k","value":"9"}]`))
	as[*client.InvalidError](t, err)
	_, err = client.Patch(ctx, c, configMap(ns, "absent"), client.MergePatch(`{}`))
	as[*client.NotFoundError](t, err)
}

func TestApplyConflictNamesTheFields(t *testing.T) {
	ctx, c, ns := live(t)
	d := must(client.Apply(ctx, c, deployment(ns, "d", 1), "one"))(t)
	for _, f := range d.ManagedFields {
		if f.Manager != "one" && f.Operation == metav1.ManagedFieldsOperationApply {
			t.Errorf("owned by %s", f.Manager)
		}
	}
	want := deployment(ns, "d", 2)
	_, err := client.Apply(ctx, c, want, "two")
	e := as[*client.ConflictError](t, err)
	if len(e.Fields) == 0 || e.Fields[0].Field != ".spec.replicas" {
		t.Errorf("conflict of %+v", e.Fields)
	}
	d = must(client.Apply(ctx, c, want, "two", client.Force{}))(t)
	if *d.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	// A typed apply owns the fields that it sets and no others.
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

// fieldNames returns all names in a set of managed fields.
func fieldNames(f *metav1.FieldsV1) (all []string) {
	var walk func(v any)
	walk = func(v any) {
		m, _ := v.(map[string]any)
		for k, v := range m {
			all = append(all, k)
			walk(v)
		}
	}
	if top, err := fieldsv1.Parse(f); err == nil {
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
			if _, err := client.Create(ctx, c, configMap(ns, name)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, limit := range []int64{1, 5, 23, 500, -1} {
		var got []string
		for cm, err := range client.List[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app in (x)"), client.ListOptions{Limit: limit}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, cm.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v", limit, got)
		}
	}
	page := must(client.ListPage[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app"), client.ListOptions{Limit: 10}))(t)
	if len(page.Items) != 10 || page.Continue == "" || page.ResourceVersion == "" {
		t.Errorf("page of %d, %q, %q", len(page.Items), page.Continue, page.ResourceVersion)
	}
	page = must(client.ListPage[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app"), client.ListOptions{Continue: page.Continue}))(t)
	if len(page.Items) != 13 || page.Remaining != 0 {
		t.Errorf("the rest is %d", len(page.Items))
	}
	_, err := client.ListPage[corev1.ConfigMap](ctx, c, client.ListOptions{Continue: "nonsense"})
	as[*client.RejectedError](t, err)
	_, err = client.ListPage[corev1.ConfigMap](ctx, c, client.FieldSelector("data.k=1"))
	as[*client.RejectedError](t, err)
	_, err = client.ListPage[corev1.ConfigMap](ctx, c, client.AtVersion("999999999999"))
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("a version of the future: %v", err)
	}

	if err := client.DeleteAll[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app=x")); err != nil {
		t.Fatal(err)
	}
	for cm, err := range client.List[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.LabelSelector("app")) {
		t.Errorf("left over: %v, %v", cm, err)
	}
}
