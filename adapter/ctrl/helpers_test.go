package ctrl_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/object"
)

// helpers returns a client for child, condition and finalizer over a client of controller-runtime, which reads
// from a cache, and one over the server.
func helpers(t *testing.T) (cached client.Client, server crclient.Client) {
	mgr, err := ctrl.NewManager(config(t), ctrl.Options{NewCache: ctrlcache.New, Metrics: noMetrics, Controller: anyName})
	must(t, err)
	run(t, mgr.Start)
	server, err = crclient.New(config(t), crclient.Options{})
	must(t, err)
	return flyctrl.ForHelpers(mgr.GetClient(), mgr.GetAPIReader()), server
}

// child creates, keeps, refuses and prunes by a client of controller-runtime, as it does by that of Flyball.
func TestChild(t *testing.T) {
	c, server := helpers(t)
	ns, ctx := namespace(t), bounded(t)
	owner := configMap(ns, "owner")
	must(t, server.Create(ctx, owner))
	want := func(name, color string) *corev1.ConfigMap { return configMap("", name, "color", color) }
	got, did, err := child.Ensure(ctx, c, owner, want("a", "red"))
	if err != nil || did != child.Created || got.Data["color"] != "red" || !metav1.IsControlledBy(got, owner) {
		t.Fatalf("created: %v, %v, %v", got, did, err)
	}
	if _, did, err = child.Ensure(ctx, c, owner, want("a", "blue")); err != nil || did != child.Updated {
		t.Errorf("updated: %v, %v", did, err)
	}
	if _, did, err = child.Ensure(ctx, flyctrl.ForHelpers(server, server), owner, want("a", "blue")); err != nil || did != child.Unchanged {
		t.Errorf("unchanged: %v, %v", did, err)
	}
	// Without a reader of the server, and with a cache that knows nothing: the apply creates or fails.
	blind := flyctrl.ForHelpers(empty{server}, nil)
	if _, _, err = child.Ensure(ctx, blind, owner, want("a", "blue")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a child that the client cannot see: %v", err)
	} else if _, ok := errors.AsType[*client.AlreadyExistsError](err); !ok {
		t.Errorf("the error is a %T", err)
	}
	must(t, server.Create(ctx, configMap(ns, "foreign")))
	if _, _, err = child.Ensure(ctx, flyctrl.ForHelpers(server, server), owner, want("foreign", "red")); !child.IsTaken(err) {
		t.Errorf("an object of others: %v", err)
	}
	_, _, err = child.Ensure(ctx, flyctrl.ForHelpers(server, server), owner, want("b", "red"))
	must(t, err)
	gone, err := child.Prune(ctx, flyctrl.ForHelpers(server, server), owner, func(m *corev1.ConfigMap) bool { return m.Name == "a" })
	if err != nil || !slices.Equal(gone, []object.Key{{Namespace: ns, Name: "b"}}) {
		t.Errorf("pruned %v, %v", gone, err)
	}
}

// empty finds nothing, as a cache does that is restricted.
type empty struct{ crclient.Client }

func (e empty) Get(_ context.Context, key crclient.ObjectKey, _ crclient.Object, _ ...crclient.GetOption) error {
	return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
}

// condition writes the status in one patch, and its conflict is that of package client.
func TestCondition(t *testing.T) {
	_, server := helpers(t)
	c, ns, ctx := flyctrl.ForHelpers(server, server), namespace(t), bounded(t)
	d := deployment(ns, "d")
	must(t, server.Create(ctx, d))
	must(t, client.IgnoreNotFound(nil))
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	must(t, server.Create(ctx, s))
	outdated := s.DeepCopy()
	st := condition.Begin(s, &s.Status.Conditions)
	st.True("Ready", "Tested", "all is well")
	must(t, st.Patch(ctx, c))
	var now corev1.Service
	must(t, server.Get(ctx, crclient.ObjectKeyFromObject(s), &now))
	if !condition.IsTrue(now.Status.Conditions, "Ready", now.Generation) || s.ResourceVersion != now.ResourceVersion {
		t.Errorf("the status is %+v", now.Status)
	}
	st = condition.Begin(outdated, &outdated.Status.Conditions)
	st.False("Ready", "Tested", "no")
	if _, ok := errors.AsType[*client.ConflictError](st.Patch(ctx, c)); !ok {
		t.Error("an outdated object was written")
	}
}

// finalizer adds and removes itself by a client of controller-runtime.
func TestFinalizer(t *testing.T) {
	_, server := helpers(t)
	c, ns, ctx := flyctrl.ForHelpers(server, server), namespace(t), bounded(t)
	m := configMap(ns, "a")
	must(t, server.Create(ctx, m))
	cleaned := false
	step := finalizer.Do("clean", func(context.Context, *corev1.ConfigMap) error { cleaned = true; return nil })
	got, err := finalizer.Run(ctx, c, m, "example.org/test", step)
	if err != nil || !object.HasFinalizer(got, "example.org/test") {
		t.Fatalf("added: %v, %v", got, err)
	}
	_, err = finalizer.Run(ctx, c, m, "example.org/test", step)
	if _, ok := errors.AsType[*finalizer.ChangedError](err); !ok {
		t.Errorf("an outdated object: %v", err)
	}
	must(t, server.Delete(ctx, got))
	must(t, server.Get(ctx, crclient.ObjectKeyFromObject(m), m))
	if got, err = finalizer.Run(ctx, c, m, "example.org/test", step); got != nil || err != nil || !cleaned {
		t.Errorf("removed: %v, %v, cleaned %v", got, err, cleaned)
	}
	if err := server.Get(ctx, crclient.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
		t.Errorf("the object is there: %v", err)
	}
}

// All verbs, options and forms go through.
func TestHelperClient(t *testing.T) {
	_, server := helpers(t)
	c, ns, ctx := flyctrl.ForHelpers(server, server), namespace(t), bounded(t)
	m, err := client.Create(ctx, c, configMap(ns, "a", "n", "1"))
	if err != nil || m.UID == "" || m.Kind != "ConfigMap" {
		t.Fatalf("created %v, %v", m, err)
	}
	if _, err := client.Create(ctx, c, configMap(ns, "dry"), client.DryRun{}); err != nil {
		t.Error(err)
	}
	if _, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: ns, Name: "dry"}, client.AtVersion("0")); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run has stored: %v", err)
	} else if _, ok := errors.AsType[*client.NotFoundError](err); !ok {
		t.Errorf("the error is a %T", err)
	}
	before := m.DeepCopy()
	m.Data["n"] = "2"
	m, err = client.Update(ctx, c, m, client.FieldOwner("updater"))
	if err != nil || before.ResourceVersion == m.ResourceVersion {
		t.Errorf("updated %v, %v", m, err)
	}
	if _, err := client.Update(ctx, c, before); !apierrors.IsConflict(err) {
		t.Errorf("an outdated update: %v", err)
	}
	m, err = client.Apply(ctx, c, configMap(ns, "a", "m", "3"), "applier")
	if err != nil || m.Data["m"] != "3" || m.Data["n"] != "2" {
		t.Errorf("applied %v, %v", m, err)
	}
	if _, err := client.Apply(ctx, c, configMap(ns, "a", "n", "3"), "applier"); err == nil {
		t.Error("a field of another owner was applied")
	} else if conflict, ok := errors.AsType[*client.ConflictError](err); !ok || len(conflict.Fields) == 0 {
		t.Errorf("the conflict is %v", err)
	}
	var read []string
	for m, err := range client.List[metav1.PartialObjectMetadata](ctx, c, client.InNamespace(ns), client.OfKind(configMaps), client.MatchingFields{"metadata.name": "a"}) {
		must(t, err)
		read = append(read, m.Name+" "+m.Kind)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configMaps)
	for u, err := range client.List[unstructured.Unstructured](ctx, c, client.InNamespace(ns), client.OfKind(configMaps)) {
		must(t, err)
		read = append(read, u.GetName()+" "+u.GetKind())
	}
	if !slices.Equal(read, []string{"a ConfigMap", "a ConfigMap", "kube-root-ca.crt ConfigMap"}) {
		t.Errorf("listed %q", read)
	}
	must(t, server.Create(ctx, deployment(ns, "d")))
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "d"}}
	must(t, client.SetScale(ctx, c, d, 3))
	scale, err := client.GetSub[autoscalingv1.Scale](ctx, c, d, "scale")
	if err != nil || scale.Spec.Replicas != 3 {
		t.Errorf("the scale is %v, %v", scale, err)
	}
	must(t, client.Delete(ctx, c, m, client.IfUID(m.UID)))
	must(t, client.DeleteAll[corev1.ConfigMap](ctx, c, client.InNamespace(ns)))
	if _, err := c.Write(ctx, client.Op{Verb: "dance", Object: m}); err == nil {
		t.Error("an unknown verb")
	}
	if _, err := c.Write(ctx, client.Op{Verb: "update"}); err == nil {
		t.Error("no object")
	}
	if err := flyctrl.ForHelpers(server, nil).Get(ctx, object.Key{Namespace: ns, Name: "a"}, m, client.GetOptions{Live: true}); !errors.Is(err, client.ErrNotLive) {
		t.Errorf("a live read without a reader: %v", err)
	}
}

// Tests of operators use the fake client. The helpers take it.
func TestHelpersOverFake(t *testing.T) {
	owner := configMap("ns", "owner")
	owner.UID = "u"
	f := fake.NewClientBuilder().WithObjects(owner).Build()
	c := flyctrl.ForHelpers(f, f)
	if _, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: "ns", Name: "x"}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("an absent object: %v", err)
	}
	if _, err := client.Create(t.Context(), c, configMap("ns", "owner")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("an object that exists: %v", err)
	}
}
