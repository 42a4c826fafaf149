package manifest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// Report is told what Apply and Delete do. Nil functions are not called.
type Report struct {
	// Done is called after each object.
	Done func(Object)
	// Waiting is called for an object whose deletion takes some seconds, and again every 10 seconds, or as soon as why
	// changes. why says what keeps the object, with the names and finalizers of some others. It gets more exact: what is in
	// a namespace, for instance, is known once the namespace controller has written it.
	Waiting func(o Object, why string)
}

func (r *Report) done(o Object) {
	if r != nil && r.Done != nil {
		r.Done(o)
	}
}

func (r *Report) waiting(o Object, why string) {
	if r != nil && r.Waiting != nil {
		r.Waiting(o, why)
	}
}

const lookEvery, tellEvery = 2 * time.Second, 10 * time.Second

// errSlow ends one part of a wait.
var errSlow = errors.New("not yet")

// awaitDeleted waits until an object, and everything in it, is deleted. The error says what keeps it.
func awaitDeleted(ctx context.Context, c *client.Live, o Object, r *Report) error {
	kind, key := o.GroupVersionKind(), object.KeyOf(o)
	var last *unstructured.Unstructured
	look := func(o *unstructured.Unstructured) (bool, error) { last = o; return false, nil }
	told, at := "", time.Time{}
	for {
		short, cancel := context.WithTimeoutCause(ctx, lookEvery, errSlow)
		err := awaitPart(short, c, kind, key, look)
		slow := short.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case isAbsent(err) || errors.Is(err, errDeleted):
			return nil
		case slow:
			if why := holders(ctx, c, o, last); why != told || time.Since(at) >= tellEvery {
				told, at = why, time.Now()
				r.waiting(o, why)
			}
		case err != nil:
			return fmt.Errorf("%s: %s: %w", Name(o), holders(ctx, c, o, last), err)
		}
	}
}

// awaitPart waits until an object is deleted, or ctx ends.
func awaitPart(ctx context.Context, c *client.Live, kind schema.GroupVersionKind, key object.Key, look func(*unstructured.Unstructured) (bool, error)) error {
	for {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		if err := c.Get(ctx, key, o, client.GetOptions{}); err != nil {
			return err
		}
		if o.GetDeletionTimestamp() == nil {
			return errDeleted // somebody has made it again
		}
		_, _ = look(o)
		if _, err := watchUntil(ctx, c, kind, key, o.GetResourceVersion(), look); err != nil {
			return err
		}
	}
}

// shownHolders bounds the objects that holders names.
const shownHolders = 5

// holders says what keeps an object that is being deleted: its own finalizers, what the server says, and for a CRD the
// objects of its kind. It works after ctx has ended, too.
func holders(ctx context.Context, c *client.Live, o Object, last *unstructured.Unstructured) string {
	what, said, all := "it is still there", "", []string{}
	if last != nil {
		said, all = terminating(last), keepers(last)
	}
	switch {
	case IsCRD(o):
		what = "objects of its kind are still there"
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		all = append(ofKind(ctx, c, o), all...)
	case o.GroupVersionKind() == namespaceKind:
		what = "what is in it is still there"
	}
	if len(all) > 0 {
		said += ": " + strings.Join(all, "; ")
	}
	return what + said
}

// keepers names the finalizers of an object that others remove, not the API server.
func keepers(o *unstructured.Unstructured) []string {
	var names []string
	for _, f := range o.GetFinalizers() {
		if f != "customresourcecleanup.apiextensions.k8s.io" {
			names = append(names, f)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s waits for whoever removes %s", Name(o), strings.Join(names, ", "))}
}

// ofKind names some objects of a CRD's kind.
func ofKind(ctx context.Context, c *client.Live, crd Object) (out []string) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	kind := schema.GroupVersionKind{}
	kind.Group, _, _ = unstructured.NestedString(crd.Object, "spec", "group")
	kind.Kind, _, _ = unstructured.NestedString(crd.Object, "spec", "names", "kind")
	for _, v := range versions {
		if m, _ := v.(map[string]any); m["served"] == true {
			kind.Version, _ = m["name"].(string)
		}
	}
	for o, err := range client.List[unstructured.Unstructured](ctx, c, client.OfKind(kind)) {
		switch {
		case err != nil:
			return out
		case len(out) == shownHolders:
			return append(out, "and more")
		}
		held := keepers(o)
		if len(held) == 0 {
			held = []string{Name(o)}
		}
		out = append(out, held...)
	}
	return out
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
