package controller_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/operatortest"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
)

// TestRestartWithAnotherStoredVersion: all replicas are down, the objects are stored in a version that
// only they can convert, and the Service of the webhooks leads to replicas that are ready alone.
func TestRestartWithAnotherStoredVersion(t *testing.T) {
	op := start(t)
	g := operatortest.Await(t, op, create(t, op, "moved", webappv1.GuestbookSpec{Message: "Hello"}), isReady)
	store(t, op, "v2")
	t.Cleanup(func() { store(t, op, "v1") })
	eventually(t, operatortest.Bound, func(ctx context.Context) error {
		// The first write after the API server has heard of it stores the object anew.
		touch := client.MergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, g.ResourceVersion))
		touched, err := client.Patch(ctx, op.Client, g, touch)
		if err != nil {
			return err
		}
		g = touched
		before := metric(t, op, "controller_runtime_webhook_requests_total", "webhook=/convert")
		const reads = 10 // more than what else the API server converts meanwhile
		for range reads {
			if _, err := client.Get[webappv1.Guestbook](ctx, op.Client, object.KeyOf(g)); err != nil {
				return err
			}
		}
		if metric(t, op, "controller_runtime_webhook_requests_total", "webhook=/convert")-before < reads {
			return errors.New("v1 is read without a conversion")
		}
		return nil
	})

	op.Restart(t, func() {
		// The API server forgets what it has read of the kind.
		change(t, op, func(spec map[string]any) error {
			return unstructured.SetNestedStringSlice(spec, []string{"guestbooks-of-all"}, "names", "categories")
		})
		eventually(t, operatortest.Bound, func(ctx context.Context) error {
			_, err := client.ListPage[webappv1.Guestbook](ctx, op.Client, client.AtVersion("0"))
			if err == nil {
				return errors.New("v1 is listed without a conversion")
			}
			return nil
		})
	})

	size := client.MergePatch(`{"spec":{"size":2}}`)
	if _, err := client.Patch(t.Context(), op.Client, g, size); err != nil {
		t.Fatal(err)
	}
	operatortest.Await(t, op, g, func(g *webappv1.Guestbook) bool { return g.Status.ReadyReplicas == 2 })
}

// store has the API server store a version of the Guestbook from now on.
func store(t *testing.T, op *operatortest.Operator, version string) {
	t.Helper()
	change(t, op, func(spec map[string]any) error {
		versions, _, _ := unstructured.NestedSlice(spec, "versions")
		for _, v := range versions {
			v := v.(map[string]any)
			v["storage"] = v["name"] == version
		}
		return unstructured.SetNestedSlice(spec, versions, "versions")
	})
}

// change changes the spec of the CRD.
func change(t *testing.T, op *operatortest.Operator, edit func(spec map[string]any) error) {
	t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("guestbooks.webapp.example.com")
	eventually(t, operatortest.Bound, func(ctx context.Context) error {
		if err := op.Client.Get(ctx, object.KeyOf(crd), crd, client.GetOptions{}); err != nil {
			return err
		}
		if err := edit(crd.Object["spec"].(map[string]any)); err != nil {
			return err
		}
		_, err := client.Update(ctx, op.Client, crd)
		return err
	})
}
