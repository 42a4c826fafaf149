package client_test

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// Each write that the server answers with 404 says what is missing: the object, its subresource, or the
// namespace. Only the first is ignored by IgnoreNotFound.
func TestWhatA404IsAbout(t *testing.T) {
	ctx, c, ns := live(t)
	bare := schema.GroupVersionKind{Group: "absent.flyball.test", Version: "v1", Kind: "Bare"}
	livetest.Define(t, c, testobj.CRD(bare, "bares"))
	custom := func(ns, name string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(bare)
		u.SetNamespace(ns)
		u.SetName(name)
		return u
	}
	there, gone, nowhere := custom(ns, "there"), custom(ns, "gone"), custom("absent-"+ns, "x")
	made := must(client.Create(ctx, c, there))(t)
	cm := must(client.Create(ctx, c, configMap(ns, "there")))(t)
	status := client.MergePatch(`{"status":{"a":"b"}}`)
	second := func(_ any, err error) error { return err }
	for _, kind := range []struct {
		name   string
		object *unstructured.Unstructured
	}{{"unserved", made}, {"absent", gone}} {
		for name, do := range map[string]func(u *unstructured.Unstructured) error{
			"UpdateStatus": func(u *unstructured.Unstructured) error { return second(client.UpdateStatus(ctx, c, u)) },
			"PatchStatus":  func(u *unstructured.Unstructured) error { return second(client.PatchStatus(ctx, c, u, status)) },
			"Apply of a status": func(u *unstructured.Unstructured) error {
				return second(client.Apply(ctx, c, custom(u.GetNamespace(), u.GetName()), "me", client.Sub("status")))
			},
			"Get of a status": func(u *unstructured.Unstructured) error {
				return second(client.Get[unstructured.Unstructured](ctx, c, object.KeyOf(u), client.OfKind(bare), client.Sub("status")))
			},
			"SetScale": func(u *unstructured.Unstructured) error { return client.SetScale(ctx, c, u, 1) },
			"GetSub": func(u *unstructured.Unstructured) error {
				return second(client.GetSub[autoscalingv1.Scale](ctx, c, u, "scale"))
			},
		} {
			err := do(kind.object.DeepCopy())
			absent := kind.name == "absent"
			if (err != nil && client.IgnoreNotFound(err) == nil) != absent || err == nil {
				t.Errorf("%s, %s: %v", name, kind.name, err)
			}
			if !absent {
				as[*client.NotServedError](t, err)
			}
		}
	}
	// A kind of the server itself that has the subresource.
	as[*client.NotFoundError](t, second(client.UpdateStatus(ctx, c, pod(ns, "gone"))))
	as[*client.NotFoundError](t, client.SetScale(ctx, c, deployment(ns, "gone", 0), 1))
	as[*client.NotServedError](t, second(client.UpdateStatus(ctx, c, cm)))

	generated := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "absent-" + ns, GenerateName: "a"}}
	for name, err := range map[string]error{
		"create":              second(client.Create(ctx, c, nowhere)),
		"create of a name":    second(client.Create(ctx, c, generated)),
		"apply":               second(client.Apply(ctx, c, configMap("absent-"+ns, "x"), "me")),
		"apply, custom":       second(client.Apply(ctx, c, nowhere, "me")),
		"apply if absent":     second(client.Apply(ctx, c, configMap("absent-"+ns, "x"), "me", client.IfAbsent{})),
		"dry run of a create": second(client.Create(ctx, c, nowhere, client.DryRun{})),
	} {
		e := as[*client.MissingError](t, err)
		if e.Object.Resource != "namespaces" || e.Name != "absent-"+ns || client.IgnoreNotFound(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
