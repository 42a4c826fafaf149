package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestWatchYieldsEachChange(t *testing.T) {
	ctx, c, ns := live(t)
	must(client.Create(ctx, c, configMap(ns, "a")))(t)
	w := must(client.Watch[corev1.ConfigMap](ctx, c, client.InNamespace(ns), client.MatchingLabels{"app": "x"}))(t)
	defer w.Stop()
	var seen []string
	for ev, err := range w.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == watch.Bookmark {
			continue
		}
		seen = append(seen, string(ev.Type)+" "+ev.Object.Name)
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
		if err != nil && !isA[*client.GoneError](err) {
			t.Errorf("from version 1: %v", err)
		}
		break
	}
	w.Stop()
}

// Each form of an object arrives in its encoding.
func TestFeedBringsEachFormInItsEncoding(t *testing.T) {
	ctx, c, ns := live(t)
	for i := range 5 {
		must(client.Create(ctx, c, configMap(ns, fmt.Sprintf("c-%d", i))))(t)
	}
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	widget := widgets(t, ctx, c)
	streams := livetest.Streams(t, servertest.Shared(t))
	must(client.Create(ctx, c, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "flyball.test/v1", "kind": "Widget", "metadata": map[string]any{"name": "w", "namespace": ns},
	}}))(t)
	for _, tt := range []struct {
		name string
		gvk  schema.GroupVersionKind
		o    client.Selection
		want wire.Encoding
	}{
		{"whole", gvk, client.Selection{Namespace: ns}, wire.Protobuf},
		{"metadata", gvk, client.Selection{Namespace: ns, MetadataOnly: true}, wire.Protobuf},
		{"custom", widget, client.Selection{Namespace: ns}, wire.JSON},
		{"custom metadata", widget, client.Selection{Namespace: ns, MetadataOnly: true}, wire.Protobuf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			feed := c.Feed(tt.gvk, tt.o)
			var listed []string
			q := wire.ListQuery{Limit: 2}
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
			// Without streaming lists a watch from no version brings the same objects, but not their end.
			w := must(feed.Watch(ctx, wire.WatchQuery{SendInitialEvents: streams, Timeout: 30 * time.Second}))(t)
			defer w.Close()
			var watched []string
			for streams || len(watched) < len(listed) {
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

// widgets creates a custom resource definition and returns its kind when the server serves it.
func widgets(t *testing.T, ctx context.Context, c *client.Live) schema.GroupVersionKind {
	t.Helper()
	gvk := schema.GroupVersionKind{Group: "flyball.test", Version: "v1", Kind: "Widget"}
	feed := c.Feed(gvk, client.Selection{})
	if _, err := feed.List(ctx, wire.ListQuery{}); err != nil {
		as[*client.NotServedError](t, err)
	}
	livetest.Define(t, livetest.Client(t, servertest.Shared(t), client.Options{}), testobj.CRD(gvk, "widgets"))
	for {
		// Define has waited with a client of its own. This one finds out by itself.
		l, err := feed.List(ctx, wire.ListQuery{})
		if err == nil {
			l.Close()
			return gvk
		}
		_, absent := errors.AsType[*client.NotServedError](err)
		_, busy := errors.AsType[*client.TooManyRequestsError](err)
		if !absent && !busy || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// The client returns typed errors while the server is down, and works again afterwards.
func TestClientWorksAfterARestart(t *testing.T) {
	p := planetest.Private(t, plane.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := newClient(t, p.RESTConfig(), client.Options{})
	made := must(client.Create(ctx, c, configMap("default", "a")))(t)
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
	as[*client.UnavailableError](t, c.Check(ctx))
	if err := p.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	got := must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(made)))(t)
	if got.UID != made.UID {
		t.Errorf("got %v", got.ObjectMeta)
	}
}
