package object

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HasFinalizer reports whether the object has the finalizer of this name. After deletion the
// finalizer keeps the object until it is removed.
func HasFinalizer(o metav1.Object, name string) bool {
	return slices.Contains(o.GetFinalizers(), name)
}

// AddFinalizer adds the finalizer unless the object has it, and reports whether it did. It sends
// nothing. A merge patch replaces the whole list of finalizers: send it with an optimistic lock
// (client.DiffWithLock). Without the lock, finalizers that others add in the meantime are lost.
func AddFinalizer(o metav1.Object, name string) bool {
	if HasFinalizer(o, name) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), name))
	return true
}

// RemoveFinalizer removes the finalizer if the object has it, and reports whether it did. It sends
// nothing; see [AddFinalizer].
func RemoveFinalizer(o metav1.Object, name string) bool {
	if !HasFinalizer(o, name) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == name }))
	return true
}
