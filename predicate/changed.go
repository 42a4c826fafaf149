package predicate

import (
	"maps"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// GenerationChanged passes updates that changed metadata.generation: for most kinds, those that
// changed the spec or asked for deletion, and not those of the status.
func GenerationChanged() Predicate {
	return changed(func(old, new *object.Header) bool { return old.Generation != new.Generation })
}

// LabelsChanged passes updates that changed the labels.
func LabelsChanged() Predicate {
	return changed(func(old, new *object.Header) bool { return !maps.Equal(old.Labels, new.Labels) })
}

// AnnotationsChanged passes updates that changed the annotations.
func AnnotationsChanged() Predicate {
	return changed(func(old, new *object.Header) bool { return !maps.Equal(old.Annotations, new.Annotations) })
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

// changed judges updates only: objects that come, go or take the name of another one pass, and so
// do events from outside and updates from or to an object that was set aside.
func changed(differ func(old, new *object.Header) bool) Predicate {
	return Func(func(c store.Change) bool {
		if c.Old == nil || c.New == nil || c.Replaced() {
			return true
		}
		if c.Old.Err() != nil || c.New.Err() != nil {
			return true
		}
		return differ(c.Old.Header(), c.New.Header())
	})
}
