package predicate

import (
	"maps"
	"slices"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// GenerationChanged passes updates that changed metadata.generation: for most kinds, those that
// changed the spec or asked for deletion, and not those of the status.
func GenerationChanged() Predicate {
	return changed(func(old, new *object.Header) bool { return old.Generation != new.Generation })
}

// LabelsChanged passes updates that changed one of the labels named; any, if none is named.
func LabelsChanged(names ...string) Predicate {
	names = slices.Clone(names)
	return changed(func(old, new *object.Header) bool { return differ(old.Labels, new.Labels, names) })
}

// AnnotationsChanged passes updates that changed one of the annotations named; any, if none is
// named. Others write annotations, too: name those that your controller reads.
func AnnotationsChanged(names ...string) Predicate {
	names = slices.Clone(names)
	return changed(func(old, new *object.Header) bool { return differ(old.Annotations, new.Annotations, names) })
}

// OwnersChanged passes updates that changed the owner references: an object that was adopted or
// released.
func OwnersChanged() Predicate {
	return changed(func(old, new *object.Header) bool { return !slices.Equal(old.Owners, new.Owners) })
}

// ResourceVersionChanged passes updates of objects that changed at all, which leaves out resyncs.
func ResourceVersionChanged() Predicate {
	return changed(func(old, new *object.Header) bool { return old.ResourceVersion != new.ResourceVersion })
}

// DeletionRequested passes updates that asked for the object to be deleted, while its finalizers
// hold it.
func DeletionRequested() Predicate {
	return changed(func(old, new *object.Header) bool { return old.Deleting() != new.Deleting() })
}

// differ compares the values of names; all that there are, if there are no names.
func differ(old, new map[string]string, names []string) bool {
	if len(names) == 0 {
		return !maps.Equal(old, new)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		was, had := old[name]
		is, has := new[name]
		return was != is || had != has
	})
}

// changed judges updates only: objects that come, go or take the name of another one pass, and so
// do events from outside, updates from or to an object that was set aside, and what is reported
// since the server went back in time.
func changed(differ func(old, new *object.Header) bool) Predicate {
	return Func(func(c store.Change) bool {
		if c.Old == nil || c.New == nil || c.Replaced() || c.Reset {
			return true
		}
		if c.Old.Err() != nil || c.New.Err() != nil {
			return true
		}
		return differ(c.Old.Header(), c.New.Header())
	})
}
