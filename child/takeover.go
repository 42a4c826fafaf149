package child

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/fieldsv1"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
)

// TakeOver takes over the fields that managers own by creates, updates and patches, before an apply; see
// [client.TakeOver]. It is for an operator that wrote whole objects before. managers are the names that
// it used then, most often the name of its program or "manager". Without TakeOver no apply removes the
// fields of those writes. It costs a get with each apply, and nothing while nothing differs.
func TakeOver(managers ...string) Option {
	return func(o *options) { o.takeOver = append(o.takeOver, managers...) }
}

// OnKept makes Ensure call f, before it returns, with the fields that an apply could not remove; see
// [Kept]. Without it Ensure logs them as a warning, by the logger of the reconcile.
func OnKept(f func(Kept)) Option { return func(o *options) { o.onKept = f } }

// Kept has fields that desired does not set and that stay because others own them, too. They are fields
// that an earlier apply of ours has set. At the first apply to an existing child they are the fields of
// every manager that has updated the child. That may be intended, as for replicas that an autoscaler
// sets. If it is not, [TakeOver] lets the next apply remove them. Ensure reports them once, with the
// apply that gives them up.
type Kept struct {
	// Child is the kind and the key of the child.
	Child string
	// Fields has the sorted paths of the fields, by the manager that owns them.
	Fields map[string][]string
}

// mustTakeOver reports whether live has fields that TakeOver must move.
func (e *ensure) mustTakeOver(live object.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return slices.Contains(e.o.takeOver, m.Manager) && m.Operation == metav1.ManagedFieldsOperationUpdate && m.Subresource == ""
	})
}

// withManagedFields returns live with its managedFields, which a cache cuts. It asks the server only if desired
// has changed since the last apply, because only then fields may be given up. If the server does not
// answer, it returns live.
func (e *ensure) withManagedFields(ctx context.Context, live object.Object) object.Object {
	if len(live.GetManagedFields()) > 0 || e.sameHash(live) {
		return live
	}
	now := fresh(live)
	if err := e.get(ctx, now, client.GetOptions{Live: true}); err != nil || now.GetUID() != live.GetUID() {
		return live
	}
	return now
}

// reportKept reports the fields that an apply could not remove.
func (e *ensure) reportKept(ctx context.Context, before, after object.Object) {
	if len(before.GetManagedFields()) == 0 {
		return
	}
	last := e.lastApply(before)
	applied := last != nil
	had, has := paths(last), paths(e.lastApply(after))
	kept := Kept{Child: e.name, Fields: map[string][]string{}}
	for _, m := range after.GetManagedFields() {
		if e.isOurs(m) || m.Subresource != "" || !applied && m.Operation != metav1.ManagedFieldsOperationUpdate {
			continue
		}
		for field := range paths(&m) {
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
	reconcile.Logger(ctx).Warn("child keeps fields that are not wanted: others own them", "child", e.name, "owners", kept.Fields)
}

// paths returns the paths of the fields of an entry. Nil has none.
func paths(m *metav1.ManagedFieldsEntry) map[string]bool {
	out := map[string]bool{}
	if m == nil || m.FieldsV1 == nil {
		return out
	}
	if set, err := fieldsv1.Parse(m.FieldsV1); err == nil {
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
			continue // the field itself, which exists as long as it has members
		case kind == "f":
			addPaths(out, join(path, name), sub)
		default:
			addPaths(out, path+"["+name+"]", sub)
		}
	}
}
