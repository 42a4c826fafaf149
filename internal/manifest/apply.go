package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

var (
	crdKind       = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

// Apply applies objects server-side as the field manager owner. It takes over fields that other
// managers own. If the objects include CRDs, Apply waits until their kinds are served before it
// applies the rest; ctx bounds the wait. It waits for an object that is being deleted, and makes it
// again. After an error, the objects applied so far remain. r may be nil.
func Apply(ctx context.Context, c *client.Live, owner string, objs []Object, r *Report) error {
	sorted := Sorted(objs)
	var kinds []Object
	for i, o := range sorted {
		if err := applyOne(ctx, c, owner, o, r); err != nil {
			return err
		}
		r.done(o)
		if !IsCRD(o) {
			continue
		}
		kinds = append(kinds, o)
		if i+1 == len(sorted) || !IsCRD(sorted[i+1]) {
			if err := awaitEstablished(ctx, c, kinds); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyOne applies an object so that it stays.
func applyOne(ctx context.Context, c *client.Live, owner string, o Object, r *Report) error {
	for {
		now, err := client.Apply(ctx, c, o, owner, client.Force{})
		if err != nil {
			return fmt.Errorf("apply %s: %w", Name(o), err)
		}
		if now.GetDeletionTimestamp() == nil {
			return nil
		}
		if err := awaitDeleted(ctx, c, now, r); err != nil {
			return fmt.Errorf("apply %s: it is being deleted: %w", Name(o), err)
		}
	}
}

// awaitEstablished returns when the kinds of these CRDs are served, and the client has discovered
// them.
func awaitEstablished(ctx context.Context, c *client.Live, crds []Object) error {
	for _, crd := range crds {
		for done := false; !done; {
			var err error
			if done, err = watchUntil(ctx, c, crdKind, object.KeyOf(crd), "", isEstablished); err != nil {
				return fmt.Errorf("%s: not established: %w", Name(crd), err)
			}
		}
	}
	for _, crd := range crds {
		if err := awaitDiscovered(ctx, c, crd); err != nil {
			return fmt.Errorf("%s: established, but not served: %w", Name(crd), err)
		}
	}
	return nil
}

func isEstablished(crd *unstructured.Unstructured) (bool, error) {
	for _, c := range conditions(crd) {
		switch {
		case c["type"] == "Established" && c["status"] == "True":
			return true, nil
		case c["type"] == "NamesAccepted" && c["status"] == "False":
			return false, fmt.Errorf("the server does not accept its names: %v", c["message"])
		}
	}
	return false, nil
}

// conditions returns the conditions in the status of an object.
func conditions(o *unstructured.Unstructured) []map[string]any {
	field, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	list, _ := field.([]any) // null at first
	var out []map[string]any
	for _, x := range list {
		if c, ok := x.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}

// awaitDiscovered returns when the server lists all versions of a kind. That is some time after the
// kind is established, and no event announces it.
func awaitDiscovered(ctx context.Context, c *client.Live, crd Object) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	wait := backoff.Backoff{Policy: backoff.Policy{Base: 10 * time.Millisecond, Max: time.Second}}
	for _, v := range versions {
		m, _ := v.(map[string]any)
		name, _ := m["name"].(string)
		for m["served"] == true {
			_, err := c.Mapper().RESTMapping(schema.GroupKind{Group: group, Kind: kind}, name)
			if err == nil {
				break
			}
			if run.Sleep(ctx, wait.Fail(time.Now())) != nil {
				return err
			}
			meta.MaybeResetRESTMapper(c.Mapper())
		}
	}
	return nil
}

// errDeleted says that an object was deleted.
var errDeleted = errors.New("it was deleted")

// watchUntil watches one object until ok returns true. It starts from a version, or from the
// current state. done is false without an error if the server ends the watch.
func watchUntil(ctx context.Context, c *client.Live, kind schema.GroupVersionKind, key object.Key, version string, ok func(*unstructured.Unstructured) (bool, error)) (done bool, err error) {
	w, err := client.Watch[unstructured.Unstructured](ctx, c, client.OfKind(kind), client.InNamespace(key.Namespace), client.FieldSelector("metadata.name="+key.Name), client.AtVersion(version))
	if err != nil {
		return false, err
	}
	for e, err := range w.Events() {
		if _, closed := errors.AsType[*client.WatchClosedError](err); closed {
			return false, nil
		}
		switch {
		case err != nil:
			return false, err
		case e.Type == watch.Deleted:
			return false, errDeleted
		case e.Object == nil:
			continue
		}
		if done, err := ok(e.Object); done || err != nil {
			return done, err
		}
	}
	return false, context.Cause(ctx)
}

// Delete deletes objects in reverse order, except that CRDs come first. It waits until all objects
// of a CRD's kind are gone, while the controllers that clean up after them still run. It also waits
// until everything in a deleted namespace is gone. Objects that do not exist are skipped. r may be nil.
func Delete(ctx context.Context, c *client.Live, objs []Object, r *Report) error {
	sorted := Sorted(objs)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b Object) int {
		switch {
		case IsCRD(a) == IsCRD(b):
			return 0
		case IsCRD(a):
			return -1
		}
		return 1
	})
	for _, o := range sorted {
		err := client.Delete(ctx, c, o, client.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
		switch {
		case isAbsent(err):
			continue
		case err != nil:
			return fmt.Errorf("delete %s: %w", Name(o), err)
		}
		if IsCRD(o) || o.GroupVersionKind() == namespaceKind {
			if err := awaitDeleted(ctx, c, o, r); err != nil {
				return err
			}
		}
		r.done(o)
	}
	meta.MaybeResetRESTMapper(c.Mapper()) // the client discovers the kinds again
	return nil
}

func isAbsent(err error) bool {
	if _, ok := errors.AsType[*client.NotServedError](err); ok {
		return true
	}
	return err != nil && client.IgnoreNotFound(err) == nil
}
