package predicate

import (
	"slices"

	"github.com/flyball-io/flyball/store"
	"github.com/flyball-io/flyball/wire"
)

// GenerationChanged passes updates that changed metadata.generation: for most kinds, those that
// changed the spec or asked for deletion, and not those of the status.
func GenerationChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return old.Generation() != new.Generation() })
}

// SpecChanged passes updates that changed the spec; of an object that has none, such as a ConfigMap
// or a Role, those that changed anything but its metadata and status. It is for kinds that count no
// generation, or count it for too much. See [wire.Digest] for what counts as a change. Where only
// metadata is watched nothing is known of the spec, and every update passes.
func SpecChanged() Predicate {
	return digestsDiffer(func(d wire.Digest) uint64 { return d.Spec })
}

// StatusChanged passes updates that changed the status, as SpecChanged does for the spec.
func StatusChanged() Predicate {
	return digestsDiffer(func(d wire.Digest) uint64 { return d.Status })
}

// LabelsChanged passes updates that changed one of the labels named; any, if none is named.
func LabelsChanged(names ...string) Predicate {
	return mapsDiffer(names,
		func(d wire.Digest) uint64 { return d.Labels },
		(*store.Entry).Label)
}

// AnnotationsChanged passes updates that changed one of the annotations named; any, if none is
// named. Others write annotations, too: name those that your controller reads.
func AnnotationsChanged(names ...string) Predicate {
	return mapsDiffer(names,
		func(d wire.Digest) uint64 { return d.Annotations },
		(*store.Entry).Annotation)
}

// OwnersChanged passes updates that changed the owner references: an object that was adopted or
// released.
func OwnersChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return !old.SameOwners(new) })
}

// ResourceVersionChanged passes updates of objects that were written, which leaves out resyncs, and
// objects that the server shows in another way at the same resourceVersion.
func ResourceVersionChanged() Predicate {
	return changed(func(old, new *store.Entry) bool { return old.ResourceVersion() != new.ResourceVersion() })
}

// DeletionRequested passes updates that asked for the object to be deleted, while its finalizers
// hold it.
func DeletionRequested() Predicate {
	return changed(func(old, new *store.Entry) bool { return old.Deleting() != new.Deleting() })
}

// digestsDiffer compares a part of the objects that metadata does not have.
func digestsDiffer(part func(wire.Digest) uint64) Predicate {
	return changed(func(old, new *store.Entry) bool {
		was, is := part(old.Digest()), part(new.Digest())
		if was == 0 && is == 0 {
			kind := new.Kind()
			return kind != nil && kind.MetadataOnly
		}
		return was != is
	})
}

// mapsDiffer compares the values of names, or all that there are by their digests. Where these are
// equal the maps are, and they are not looked at.
func mapsDiffer(names []string, part func(wire.Digest) uint64, of func(e *store.Entry, name string) (string, bool)) Predicate {
	names = slices.Clone(names)
	return changed(func(old, new *store.Entry) bool {
		if differ := part(old.Digest()) != part(new.Digest()); !differ || len(names) == 0 {
			return differ
		}
		return slices.ContainsFunc(names, func(name string) bool {
			a, had := of(old, name)
			b, has := of(new, name)
			return a != b || had != has
		})
	})
}

// changed judges updates only: objects that come, go or take the name of another one pass, and so
// do events from outside, updates from or to an object that was set aside, and what is reported
// since the server went back in time.
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
