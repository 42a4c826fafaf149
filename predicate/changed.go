package predicate

import (
	"slices"

	"github.com/flyball-io/flyball/store"
)

// GenerationChanged passes updates that changed metadata.generation. For most kinds these are
// changes of the spec and requests for deletion, but not changes of the status.
func GenerationChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return old.Generation() != new.Generation() })
}

// SpecChanged passes updates that changed the spec. For an object without a spec, such as a
// ConfigMap or a Role, it passes updates of anything but metadata and status. It is for kinds that
// do not count generations, or count them too often. See [store.Entry.SameSpec].
// A watch of metadata only does not know the spec, so every update passes.
func SpecChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return !old.SameSpec(new) })
}

// StatusChanged passes updates that changed the status. See SpecChanged.
func StatusChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return !old.SameStatus(new) })
}

// LabelsChanged passes updates that changed one of the named labels, or any label if none is named.
func LabelsChanged(names ...string) Predicate {
	return mapsDiffer(names, (*store.Entry).SameLabels, (*store.Entry).Label)
}

// AnnotationsChanged passes updates that changed one of the named annotations, or any annotation if
// none is named. Other programs write annotations too: name those that your controller reads.
func AnnotationsChanged(names ...string) Predicate {
	return mapsDiffer(names, (*store.Entry).SameAnnotations, (*store.Entry).Annotation)
}

// OwnersChanged passes updates that changed the owner references: an object was adopted or
// released.
func OwnersChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return !old.SameOwners(new) })
}

// ResourceVersionChanged passes updates of objects that were written. It stops resyncs, and objects
// that the server shows differently at the same resourceVersion.
func ResourceVersionChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return old.ResourceVersion() != new.ResourceVersion() })
}

// DeletionRequested passes updates that requested deletion of an object with finalizers.
func DeletionRequested() Predicate {
	return changed(func(old, new *store.Entry) bool { return old.Deleting() != new.Deleting() })
}

// mapsDiffer compares the values of names, or the whole maps if names is empty. The values of equal maps are not
// compared.
func mapsDiffer(names []string, same func(old, new *store.Entry) bool, of func(e *store.Entry, name string) (string, bool)) Predicate {
	names = slices.Clone(names)
	return changed(func(old, new *store.Entry) bool {
		return !same(old, new) && (len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
			a, inOld := of(old, name)
			b, inNew := of(new, name)
			return a != b || inOld != inNew
		}))
	})
}

// changed judges updates only. It passes objects that appear, disappear or take the name of another
// one, and events from outside. It also passes updates from or to a quarantined object, and changes
// reported since the server went back in time.
func changed(differ func(old, new *store.Entry) bool) Predicate {
	return builtin{func(c store.Change) bool {
		if c.Old == nil || c.New == nil || c.Replaced() || c.Reset {
			return true
		}
		if c.Old.Err() != nil || c.New.Err() != nil {
			return true
		}
		return differ(c.Old, c.New)
	}}
}
