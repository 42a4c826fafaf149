package manifest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
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
			// When the context ends, the error says what keeps it.
			short, cancel := context.WithTimeout(ctx, 5*time.Minute)
			defer cancel()
			waits := &manifest.Report{Waiting: func(manifest.Object, string) { cancel() }}
			if err := manifest.Apply(short, c, "me", first, waits); err == nil || !strings.Contains(err.Error(), "it is being deleted") {
				t.Errorf("%v", err)
			}
			named := false
			err := manifest.Apply(ctx, c, "me", first, &manifest.Report{Waiting: func(o manifest.Object, why string) {
				if o.GetName() != first[0].GetName() {
					t.Errorf("told of %s: %s", manifest.Name(o), why)
				}
				if named {
					return // the server takes its time
				}
				named = strings.Contains(why, "deleted.test/x") && (what == "namespace" || strings.Contains(why, manifest.Name(held)))
				if !named {
					if what == "namespace" {
						return // its controller has not written it yet
					}
					t.Errorf("%s and its finalizer are not named: %s", manifest.Name(held), why)
				}
				if _, err := client.Patch(ctx, c, held.DeepCopy(), client.MergePatch(`{"metadata":{"finalizers":null}}`)); err != nil {
					t.Error(err)
				}
			}})
			if err != nil || !named {
				t.Fatalf("%v, told what keeps it: %v", err, named)
			}
			now := &unstructured.Unstructured{}
			now.SetGroupVersionKind(first[0].GroupVersionKind())
			if err := c.Get(ctx, object.KeyOf(first[0]), now, client.GetOptions{}); err != nil || now.GetDeletionTimestamp() != nil {
				t.Errorf("%v, deletionTimestamp %v", err, now.GetDeletionTimestamp())
			}
		})
	}
}

// Waiting is called as soon as something else keeps an object, whatever the number of its finalizers, and not twice for
// the same within some seconds.
func TestApplyTellsWhatKeepsNow(t *testing.T) {
	for n := range 3 {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			c, objs := live(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept, namespace: "+servertest.Namespace(t, servertest.Shared(t))+"}")
			var looks atomic.Int32
			cfg := servertest.Shared(t).RESTConfig()
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return counted{next, &looks} })
			counts, err := client.New(cfg, client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(counts.Close)
			var left []string
			for i := range n + 1 {
				left = append(left, fmt.Sprintf("kept.test/%d", i))
			}
			made := objs[0].DeepCopy()
			made.SetFinalizers(left)
			if _, err := client.Create(ctx, c, made); err != nil {
				t.Fatal(err)
			}
			if err := client.Delete(ctx, c, made); err != nil {
				t.Fatal(err)
			}
			err = manifest.Apply(ctx, counts, "me", objs, &manifest.Report{Waiting: func(_ manifest.Object, why string) {
				if want := "removes " + strings.Join(left, ", "); !strings.HasSuffix(why, want) {
					t.Errorf("%s, want: %s", why, want)
				}
				left = left[1:]
				patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": left}})
				if _, err := client.Patch(ctx, c, objs[0].DeepCopy(), client.MergePatch(patch)); err != nil {
					t.Error(err)
				}
			}})
			if err != nil || len(left) > 0 {
				t.Errorf("%v, not told of %v", err, left)
			}
			// It looks every 2 seconds. Called every 10 seconds only, it would look five times for each finalizer but one.
			if n := int32(n); looks.Load() > 3+2*n {
				t.Errorf("looked %d times", looks.Load())
			}
		})
	}
}

// counted counts the reads of an object.
type counted struct {
	next  http.RoundTripper
	looks *atomic.Int32
}

func (c counted) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, "/configmaps/kept") {
		c.looks.Add(1)
	}
	return c.next.RoundTrip(q)
}

func (c counted) WrappedRoundTripper() http.RoundTripper { return c.next }
