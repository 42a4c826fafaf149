package manifest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

var (
	crdKind       = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
)

// Apply applies objects server-side as the field manager owner. It takes over fields that other
// managers own. If the objects include CRDs, Apply waits until their kinds are served before it
// applies the rest; ctx bounds the wait. After an error, the objects applied so far remain. applied
// is called after each object, unless it is nil.
func Apply(ctx context.Context, c *client.Live, owner string, objs []Object, applied func(Object)) error {
	sorted := Sorted(objs)
	var kinds []Object
	for i, o := range sorted {
		if _, err := client.Apply(ctx, c, o, owner, client.Force{}); err != nil {
			return fmt.Errorf("apply %s: %w", Name(o), err)
		}
		if applied != nil {
			applied(o)
		}
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

// awaitEstablished returns when the kinds of these CRDs are served, and the client has discovered
// them.
func awaitEstablished(ctx context.Context, c *client.Live, crds []Object) error {
	for _, crd := range crds {
		for done := false; !done; {
			var err error
			if done, err = watchUntil(ctx, c, crdKind, crd.GetName(), "", isEstablished); err != nil {
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
func watchUntil(ctx context.Context, c *client.Live, kind schema.GroupVersionKind, name, version string, ok func(*unstructured.Unstructured) (bool, error)) (done bool, err error) {
	w, err := client.Watch[unstructured.Unstructured](ctx, c, client.OfKind(kind), client.FieldSelector("metadata.name="+name), client.AtVersion(version))
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
		case e.Type == wire.Deleted:
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
// until everything in a deleted namespace is gone. Objects that do not exist are skipped. deleted is
// called after each object, unless it is nil.
func Delete(ctx context.Context, c *client.Live, objs []Object, deleted func(Object)) error {
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
		switch kind := o.GroupVersionKind(); {
		case IsCRD(o):
			err = awaitDeleted(ctx, c, crdKind, o.GetName(), "objects of its kind are")
		case kind == namespaceKind:
			err = awaitDeleted(ctx, c, kind, o.GetName(), "what is in it is")
		}
		if err != nil {
			return err
		}
		if deleted != nil {
			deleted(o)
		}
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

// awaitDeleted waits until an object, and everything in it, is deleted. If that takes too long, the
// error has the server's reason.
func awaitDeleted(ctx context.Context, c *client.Live, kind schema.GroupVersionKind, name, held string) error {
	var waits string
	look := func(o *unstructured.Unstructured) (bool, error) { waits = terminating(o); return false, nil }
	for {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		err := c.Get(ctx, object.Key{Name: name}, o, client.GetOptions{})
		if isAbsent(err) {
			return nil
		}
		if err == nil {
			_, _ = look(o)
			_, err = watchUntil(ctx, c, kind, name, o.GetResourceVersion(), look)
		}
		if errors.Is(err, errDeleted) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s %s: %s still there%s: %w", kind.Kind, name, held, waits, err)
		}
	}
}

// terminating returns the conditions of a CRD or namespace about its deletion, or "".
func terminating(o *unstructured.Unstructured) string {
	var all []string
	for _, c := range conditions(o) {
		t, _ := c["type"].(string)
		message, _ := c["message"].(string)
		if c["status"] == "True" && message != "" && (t == "Terminating" || strings.HasPrefix(t, "Namespace")) {
			all = append(all, message)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (the server says: " + strings.Join(all, "; ") + ")"
}
