package manifest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
)

// Whatever is being deleted is waited for, with a word on what keeps it, and made again: it is there afterwards. The first
// object of each text is deleted and applied, and the last one keeps it by its finalizer.
func TestApplyWaitsForWhatIsBeingDeleted(t *testing.T) {
	for what, text := range map[string]string{
		"CRD": strings.ReplaceAll(thing, "manifest.test", "deleted.test"),
		"object": `
apiVersion: v1
kind: ConfigMap
metadata: {name: being-deleted, namespace: default}
`,
		"namespace": `
apiVersion: v1
kind: Namespace
metadata: {name: being-deleted}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: being-deleted}
`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			c, objs := live(t, text)
			held := objs[len(objs)-1]
			if what == "CRD" {
				objs[0], objs[1] = objs[1], objs[0]
				held = objs[1]
			}
			first := objs[:1]
			if err := manifest.Apply(ctx, c, "me", objs, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Patch(ctx, c, held.DeepCopy(), client.MergePatch(`{"metadata":{"finalizers":["deleted.test/x"]}}`)); err != nil {
				t.Fatal(err)
			}
			if err := client.Delete(ctx, c, first[0]); err != nil {
				t.Fatal(err)
			}
			// At the bound the error says what keeps it.
			short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			defer cancel()
			if err := manifest.Apply(short, c, "me", first, nil); err == nil || !strings.Contains(err.Error(), "it is being deleted") {
				t.Errorf("%v", err)
			}
			told := 0
			err := manifest.Apply(ctx, c, "me", first, &manifest.Report{Waiting: func(o manifest.Object, why string) {
				if told++; !strings.Contains(why, "deleted.test/x") || o.GetName() != first[0].GetName() {
					t.Errorf("told of %s: %s", manifest.Name(o), why)
				}
				if what != "namespace" && !strings.Contains(why, manifest.Name(held)) {
					t.Errorf("%s is not named: %s", manifest.Name(held), why)
				}
				if _, err := client.Patch(ctx, c, held.DeepCopy(), client.MergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
					t.Error(err)
				}
			}})
			if err != nil || told == 0 {
				t.Fatalf("%v, told %d times", err, told)
			}
			now := &unstructured.Unstructured{}
			now.SetGroupVersionKind(first[0].GroupVersionKind())
			if err := c.Get(ctx, object.KeyOf(first[0]), now, client.GetOptions{}); err != nil || now.GetDeletionTimestamp() != nil {
				t.Errorf("%v, deletionTimestamp %v", err, now.GetDeletionTimestamp())
			}
		})
	}
}
