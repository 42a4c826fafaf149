package ctrl_test

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	flyclient "github.com/flyball-io/flyball/client"
)

// Every write fills the object with the answer, and leaves its TypeMeta as it was.
func TestWritesFillTheObject(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	for form, o := range map[string]client.Object{"typed": configMap(ns, "typed"), "unstructured": untyped(ns, "unstructured")} {
		kind := o.GetObjectKind().GroupVersionKind()
		must(t, c.Create(ctx, o))
		created := o.GetResourceVersion()
		if o.GetUID() == "" || created == "" {
			t.Errorf("%s: a create leaves %v", form, o)
		}
		o.SetLabels(map[string]string{"a": "b"})
		must(t, c.Update(ctx, o))
		updated := o.GetResourceVersion()
		before := o.DeepCopyObject().(client.Object)
		o.SetAnnotations(map[string]string{"c": "d"})
		must(t, c.Patch(ctx, o, client.MergeFrom(before)))
		if patched := o.GetResourceVersion(); updated == created || patched == updated || o.GetLabels()["a"] != "b" {
			t.Errorf("%s: versions %s, %s, %s", form, created, updated, patched)
		}
		if got := o.GetObjectKind().GroupVersionKind(); got != kind {
			t.Errorf("%s: the kind was %v, is %v", form, kind, got)
		}
		must(t, c.Delete(ctx, o, client.Preconditions{UID: new(o.GetUID())}))
		if err := c.Delete(ctx, o); !apierrors.IsNotFound(err) {
			t.Errorf("%s: a delete of nothing: %v", form, err)
		}
	}
	named := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "made-"}}
	must(t, c.Create(ctx, named))
	if !strings.HasPrefix(named.Name, "made-") {
		t.Errorf("a generated name: %q", named.Name)
	}
}

// Each type of patch is sent, on each form of an object.
func TestPatches(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	for form, o := range map[string]client.Object{"typed": configMap(ns, "o"), "unstructured": untyped(ns, "o"), "metadata": partial(ns, "o")} {
		for name, p := range map[string]struct {
			patch client.Patch
			opts  []client.PatchOption
		}{
			"json":      {patch: client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/labels","value":{"by":"json"}}]`))},
			"merge":     {patch: client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"by":"merge"}}}`))},
			"strategic": {patch: client.RawPatch(types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"by":"strategic"}}}`))},
			"apply": {
				client.RawPatch(types.ApplyPatchType, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {by: apply}}")),
				[]client.PatchOption{client.FieldOwner("patcher"), client.ForceOwnership},
			},
		} {
			must(t, client.IgnoreNotFound(c.Delete(ctx, configMap(ns, "o"))))
			must(t, c.Create(ctx, configMap(ns, "o", "a", "b")))
			o.SetLabels(nil)
			if err := c.Patch(ctx, o, p.patch, p.opts...); err != nil || o.GetLabels()["by"] != name || o.GetResourceVersion() == "" {
				t.Errorf("%s, %s: %v, %v", form, name, err, o)
			}
		}
	}
	m := configMap(ns, "o")
	if err := c.Patch(ctx, m, client.RawPatch("text/plain", []byte("x"))); err == nil {
		t.Error("a patch of an unknown type")
	}
	if err := c.Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte("{}")), client.ForceOwnership); err == nil {
		t.Error("force without an apply")
	}
	other := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}"
	if err := c.Patch(ctx, m, client.RawPatch(types.ApplyPatchType, []byte(other)), client.FieldOwner("patcher")); err == nil {
		t.Error("an apply patch for another object")
	}
	for _, verb := range []error{c.Create(ctx, partial(ns, "new")), c.Update(ctx, partial(ns, "o"))} {
		if verb == nil {
			t.Error("metadata written as a whole object")
		}
	}
}

// Conflicts, of an update and of a patch with the lock, are those of apimachinery and of package client.
func TestConflicts(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	m := configMap(ns, "a", "n", "1")
	must(t, c.Create(ctx, m))
	outdated := m.DeepCopy()
	m.Data["n"] = "2"
	must(t, c.Update(ctx, m))
	change := outdated.DeepCopy()
	change.Data["n"] = "3"
	for name, err := range map[string]error{
		"update": c.Update(ctx, outdated.DeepCopy()),
		"patch":  c.Patch(ctx, change, client.MergeFromWithOptions(outdated, client.MergeFromWithOptimisticLock{})),
	} {
		_, ours := errors.AsType[*flyclient.ConflictError](err)
		status, theirs := errors.AsType[*apierrors.StatusError](err)
		if !apierrors.IsConflict(err) || !ours || !theirs || status.ErrStatus.Code != 409 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Create(ctx, configMap(ns, "a")); !apierrors.IsAlreadyExists(err) || client.IgnoreAlreadyExists(err) != nil {
		t.Errorf("a second create: %v", err)
	}
	if err := c.Create(ctx, configMap(ns, "Not_A_Name")); !apierrors.IsInvalid(err) {
		t.Errorf("an invalid name: %v", err)
	}
	if err := c.Create(ctx, configMap(ns+"-absent", "a")); !apierrors.IsNotFound(err) {
		t.Errorf("no such namespace: %v", err)
	}
}

// Dry runs store nothing, field owners own, and field validation refuses.
func TestWriteOptions(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	m := configMap(ns, "a")
	must(t, c.Create(ctx, m, client.DryRunAll))
	if err := c.Get(ctx, client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run has stored: %v", err)
	}
	if err := c.Create(ctx, m, &client.CreateOptions{DryRun: []string{"Some"}}); err == nil {
		t.Error("a dry run of a kind that there is not")
	}
	must(t, client.NewDryRunClient(c).Create(ctx, configMap(ns, "a")))
	m = configMap(ns, "a", "a", "b")
	must(t, client.WithFieldOwner(c, "somebody").Create(ctx, m))
	if owners := m.GetManagedFields(); len(owners) != 1 || owners[0].Manager != "somebody" {
		t.Errorf("the owners are %v", owners)
	}
	must(t, c.Delete(ctx, m, client.DryRunAll))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(m), m))
	u := untyped(ns, "b")
	u.Object["nonsense"] = true
	if err := c.Create(ctx, u, client.FieldValidation(metav1.FieldValidationStrict)); err == nil {
		t.Error("an unknown field was accepted")
	}
	for _, name := range []string{"x", "y", "z"} {
		o := configMap(ns, name)
		o.Labels = map[string]string{"old": map[bool]string{true: "no", false: "yes"}[name == "z"]}
		must(t, c.Create(ctx, o))
	}
	must(t, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingLabels{"old": "yes"}, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	must(t, c.DeleteAllOf(ctx, partial("", ""), client.InNamespace(ns), client.MatchingFields{"metadata.name": "a"}))
	var left corev1.ConfigMapList
	must(t, c.List(ctx, &left, client.InNamespace(ns), client.HasLabels{"old"}))
	if len(left.Items) != 1 || left.Items[0].Name != "z" {
		t.Errorf("left are %q", names(&left))
	}
}

// Apply configurations are applied, filled with the answer, and conflict without force.
func TestApplyConfigurations(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	typed := corev1ac.ConfigMap("a", ns).WithData(map[string]string{"n": "1"})
	must(t, c.Apply(ctx, typed, client.FieldOwner("one")))
	if typed.UID == nil || typed.ResourceVersion == nil {
		t.Errorf("the answer is %+v", typed.ObjectMetaApplyConfiguration)
	}
	u := untyped(ns, "a")
	u.Object["data"] = map[string]any{"n": "2"}
	other := client.ApplyConfigurationFromUnstructured(u)
	if err := c.Apply(ctx, other, client.FieldOwner("two")); !apierrors.IsConflict(err) {
		t.Errorf("a field of another owner: %v", err)
	}
	must(t, c.Apply(ctx, other, client.FieldOwner("two"), client.ForceOwnership))
	if u.GetUID() == "" {
		t.Errorf("the answer is %v", u)
	}
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{}})); err == nil {
		t.Error("a configuration without a kind")
	}
}

func deployment(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
		},
	}
}

// Subresources are read and written, those of the object's kind and those of others.
func TestSubResources(t *testing.T) {
	c, ns, ctx := flyctrl.NewClient(newManager(t)), namespace(t), bounded(t)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}
	must(t, c.Create(ctx, pod))
	pod.Status.Message = "updated"
	pod.Spec.Containers[0].Image = "not sent"
	must(t, c.Status().Update(ctx, pod))
	if pod.Status.Message != "updated" || pod.Spec.Containers[0].Image != "a" {
		t.Errorf("after an update of the status: %v", pod)
	}
	before := pod.DeepCopy()
	pod.Status.Message = "patched"
	must(t, c.Status().Patch(ctx, pod, client.MergeFrom(before)))
	ac := corev1ac.Pod("p", ns).WithStatus(corev1ac.PodStatus().WithReason("applied"))
	must(t, c.Status().Apply(ctx, ac, client.FieldOwner("status")))
	var got corev1.Pod
	must(t, c.SubResource("status").Get(ctx, pod, &got))
	if got.Status.Message != "patched" || got.Status.Reason != "applied" || ac.UID == nil {
		t.Errorf("the status is %+v", got.Status)
	}
	must(t, c.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}}))

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "default"}}
	token := &authenticationv1.TokenRequest{}
	must(t, c.SubResource("token").Create(ctx, account, token))
	if token.Status.Token == "" {
		t.Error("no token")
	}

	d := deployment(ns, "d")
	must(t, c.Create(ctx, d))
	scale := &autoscalingv1.Scale{}
	must(t, c.SubResource("scale").Get(ctx, d, scale))
	scale.Spec.Replicas, scale.ResourceVersion = 2, "" // the controller of Deployments writes, too
	must(t, c.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(scale)))
	patched := &autoscalingv1.Scale{}
	must(t, c.SubResource("scale").Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`)), client.WithSubResourceBody(patched)))
	if scale.Spec.Replicas != 2 || patched.Spec.Replicas != 3 {
		t.Errorf("replicas %d, %d", scale.Spec.Replicas, patched.Spec.Replicas)
	}
	must(t, c.SubResource("scale").Apply(ctx, appsac.Deployment("d", ns), &client.SubResourceApplyOptions{
		SubResourceBody: autoscalingac.Scale().WithName("d").WithNamespace(ns).WithSpec(autoscalingac.ScaleSpec().WithReplicas(4)),
		ApplyOptions:    client.ApplyOptions{FieldManager: "scaler", Force: new(true)},
	}))
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(d), u))
	if n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); n != 4 {
		t.Errorf("replicas of an unstructured Deployment: %d", n)
	}
	if namespaced, err := c.IsObjectNamespaced(d); err != nil || !namespaced {
		t.Errorf("a Deployment is namespaced: %v, %v", namespaced, err)
	}
	if namespaced, err := c.IsObjectNamespaced(&corev1.Node{}); err != nil || namespaced {
		t.Errorf("a Node is namespaced: %v, %v", namespaced, err)
	}
	if err := c.SubResource("nonsense").Get(ctx, d, scale); err == nil {
		t.Error("a subresource that there is not")
	}
}
