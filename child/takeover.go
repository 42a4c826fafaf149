package child

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// TakeOver takes over, before an apply, the fields that managers own by creates, updates and patches; see
// [client.TakeOver]. An operator that wrote whole objects before names here who it was, most often the
// name of its program or "manager": without it fields that it has set then are never removed. It costs a
// get with each apply, and nothing at rest.
func TakeOver(managers ...string) Option {
	return func(o *options) { o.takeOver = append(o.takeOver, managers...) }
}

// OnKept calls f, before Ensure returns, with the fields that an apply could not remove; see [Kept].
// Without it they are a warning in the logger of the reconcile.
func OnKept(f func(Kept)) Option { return func(o *options) { o.onKept = f } }

// Kept are fields that desired does not set and that stay, since others own them, too: those that an
// earlier apply of ours had set, and, at the first apply to a child that was there before, those of
// every manager that has updated it. That may be meant so, as when replicas are left to an autoscaler;
// else [TakeOver] lets the next apply remove them. It is told once, by the apply that gives them up.
type Kept struct {
	// Child by its kind and key.
	Child string
	// Fields by the manager that owns them, sorted.
	Fields map[string][]string
}

// owes reports whether live shows fields that TakeOver is to move.
func (e *ensure) owes(live object.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return slices.Contains(e.o.takeOver, m.Manager) && m.Operation == metav1.ManagedFieldsOperationUpdate && m.Subresource == ""
	})
}

// asServed is live with its managedFields, which a cache cuts, where what is wanted has changed since
// the last apply: then fields may be given up. If the server cannot be asked it is live itself.
func (e *ensure) asServed(ctx context.Context, live object.Object) object.Object {
	if len(live.GetManagedFields()) > 0 || live.GetAnnotations()[AppliedAnnotation] == e.want.GetAnnotations()[AppliedAnnotation] {
		return live
	}
	now := fresh(live)
	if err := e.get(ctx, now, client.GetOptions{Live: true}); err != nil || now.GetUID() != live.GetUID() {
		return live
	}
	return now
}

// tell reports what an apply could not remove.
func (e *ensure) tell(ctx context.Context, before, after object.Object) {
	if len(before.GetManagedFields()) == 0 {
		return
	}
	had, applied := e.ours(before)
	has, _ := e.ours(after)
	kept := Kept{Child: e.name, Fields: map[string][]string{}}
	for _, m := range after.GetManagedFields() {
		if e.isOurs(m) || m.Subresource != "" || !applied && m.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		for field := range paths(m) {
			if !has[field] && (had[field] || !applied) {
				kept.Fields[m.Manager] = append(kept.Fields[m.Manager], field)
			}
		}
	}
	if len(kept.Fields) == 0 {
		return
	}
	for _, fields := range kept.Fields {
		slices.Sort(fields)
	}
	if e.o.onKept != nil {
		e.o.onKept(kept)
		return
	}
	reconcile.Logger(ctx).Warn("child keeps fields that are not wanted: others own them", "child", e.name, "fields", kept.Fields)
}

func (e *ensure) isOurs(m metav1.ManagedFieldsEntry) bool {
	return m.Manager == e.o.fieldOwner && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == ""
}

// ours are the fields of our last apply; ok is false if there was none.
func (e *ensure) ours(o object.Object) (fields map[string]bool, ok bool) {
	for _, m := range o.GetManagedFields() {
		if e.isOurs(m) {
			return paths(m), true
		}
	}
	return nil, false
}

// paths are the fields of an entry, by their paths.
func paths(m metav1.ManagedFieldsEntry) map[string]bool {
	out := map[string]bool{}
	if m.FieldsV1 == nil {
		return out
	}
	var set map[string]any
	if json.Unmarshal(m.FieldsV1.GetRawBytes(), &set) == nil {
		addPaths(out, "", set)
	}
	return out
}

func addPaths(out map[string]bool, path string, set map[string]any) {
	if len(set) == 0 {
		out[path] = true
	}
	for _, k := range slices.Sorted(maps.Keys(set)) {
		sub, _ := set[k].(map[string]any)
		kind, name, _ := strings.Cut(k, ":")
		switch {
		case k == ".":
			continue // it is there as long as something is in it
		case kind == "f":
			addPaths(out, join(path, name), sub)
		default:
			addPaths(out, path+"["+name+"]", sub)
		}
	}
}
