package manifest_test

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

const thing = `
apiVersion: manifest.test/v1
kind: Thing
metadata: {name: t}
spec: {n: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.manifest.test}
spec:
  group: manifest.test
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// live returns a client of the shared control plane, and the objects of a manifest.
func live(t *testing.T, text string) (*client.Live, []manifest.Object) {
	t.Helper()
	c, err := client.New(servertest.Shared(t).RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	objs, err := manifest.Decode("test.yaml", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return c, objs
}

// A CRD and an object of its kind are applied together, applied a second time, and deleted
// completely.
func TestApplyTwiceThenDeleteLeavesNothing(t *testing.T) {
	ctx := t.Context()
	c, objs := live(t, thing)
	var told []string
	tell := func(what string) *manifest.Report {
		return &manifest.Report{Done: func(o manifest.Object) { told = append(told, what+" "+manifest.Name(o)) }}
	}
	for range 2 {
		if err := manifest.Apply(ctx, c, "me", objs, tell("applied")); err != nil {
			t.Fatal(err)
		}
	}
	got := &unstructured.Unstructured{}
	got.SetGroupVersionKind(objs[0].GroupVersionKind())
	if err := c.Get(ctx, object.Key{Name: "t"}, got, client.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := manifest.Delete(ctx, c, objs, tell("deleted")); err != nil {
			t.Fatal(err)
		}
	}
	want := "applied CustomResourceDefinition things.manifest.test, applied Thing t"
	if got := strings.Join(told, ", "); got != want+", "+want+", deleted CustomResourceDefinition things.manifest.test" {
		t.Errorf("told: %s", got)
	}
}

// An object with a finalizer blocks the deletion of its CRD. Delete waits until somebody removes
// the finalizer.
func TestDeleteWaitsForFinalizers(t *testing.T) {
	ctx := t.Context()
	c, objs := live(t, strings.ReplaceAll(thing, "manifest.test", "waits.test"))
	objs[0].SetFinalizers([]string{"waits.test/x"})
	if err := manifest.Apply(ctx, c, "me", objs, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- manifest.Delete(ctx, c, objs, nil) }()
	w, err := client.Watch[unstructured.Unstructured](ctx, c, client.OfKind(objs[0].GroupVersionKind()))
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Object != nil && e.Object.GetDeletionTimestamp() != nil {
			break
		}
	}
	w.Stop()
	select {
	case err := <-done:
		t.Fatalf("Delete returned while the object is there: %v", err)
	default:
	}
	// The error has the server's reason as soon as the status does.
	const reason = "objects of its kind are still there (the server says: CustomResource deletion is in progress)"
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	err = manifest.Delete(short, c, objs, &manifest.Report{Waiting: func(_ manifest.Object, why string) {
		if strings.Contains(why, reason) {
			cancel()
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "CustomResourceDefinition things.waits.test: "+reason) {
		t.Fatal(err)
	}
	objs[0].SetFinalizers(nil)
	if _, err := client.Patch(ctx, c, objs[0], client.MergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// When Delete returns, a namespace and everything in it are gone: it can be applied again.
func TestDeletedNamespaceCanBeAppliedAgain(t *testing.T) {
	ctx := t.Context()
	c, objs := live(t, `
apiVersion: v1
kind: Namespace
metadata: {name: manifest-room}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: chair, namespace: manifest-room}
`)
	if err := manifest.Apply(ctx, c, "me", objs, nil); err != nil {
		t.Fatal(err)
	}
	if err := manifest.Delete(ctx, c, objs, nil); err != nil {
		t.Fatal(err)
	}
	if err := manifest.Apply(ctx, c, "me", objs, nil); err != nil {
		t.Fatal(err)
	}
}
