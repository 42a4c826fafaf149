package sampletest

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Bound ends what should take less than a second, on a machine that others use, too.
const Bound = 5 * time.Minute

// Eventually returns true when ok says so of an object of a namespace, as it is now or in any
// later state; false when that takes too long. Name is that of the object; empty: any.
func Eventually[T any, P object.Ptr[T]](t testing.TB, c *client.Live, within time.Duration, namespace, name string, ok func(P) bool) bool {
	t.Helper()
	return follow(t, c, within, namespace, name, func(e client.Event[P]) bool { return e.Type != watch.Deleted && ok(e.Object) })
}

// Gone returns true when there is no object of that name and uid; false when that takes too long.
func Gone[T any, P object.Ptr[T]](t testing.TB, c *client.Live, was P) bool {
	t.Helper()
	now, err := client.Get[T, P](t.Context(), c, object.KeyOf(was))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil || now.GetUID() != was.GetUID() {
		return true
	}
	return follow(t, c, Bound, was.GetNamespace(), was.GetName(), func(e client.Event[P]) bool {
		return e.Type == watch.Deleted || e.Object.GetUID() != was.GetUID()
	}, client.AtVersion(now.GetResourceVersion()))
}

func follow[T any, P object.Ptr[T]](t testing.TB, c *client.Live, within time.Duration, namespace, name string, ok func(client.Event[P]) bool, opts ...client.ListOption) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	opts = append(opts, client.InNamespace(namespace))
	if name != "" {
		opts = append(opts, client.MatchingFields{"metadata.name": name})
	}
	w, err := client.Watch[T, P](ctx, c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			t.Log(err)
			return false
		}
		if e.Object != nil && ok(e) {
			return true
		}
	}
	return false
}
