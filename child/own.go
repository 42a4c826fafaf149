package child

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// Own makes owner the controller of obj, in obj: the garbage collector deletes obj after the owner,
// a foreground deletion of the owner waits for obj, and controller.Owns finds the owner by it.
// Owner references of others stay. Nothing is sent.
//
// The errors are *InvalidError: an owner that was not read from a server, a namespaced owner of an
// object in another namespace or in none; *OwnedError where another object controls it; and
// *object.UnknownKindError.
func Own(owner, obj object.Object, scheme *runtime.Scheme) error {
	if err := checkOwner(owner); err != nil {
		return err
	}
	gvk, err := object.KindOf(scheme, owner)
	if err != nil {
		return fmt.Errorf("owner: %w", err)
	}
	return own(owner, gvk, obj, describe(scheme, obj))
}

func own(owner object.Object, gvk schema.GroupVersionKind, obj object.Object, name string) error {
	if ns := owner.GetNamespace(); ns != "" && obj.GetNamespace() != ns {
		problem := fmt.Sprintf("is %q, but the owner %s is in %q: an owner must be in the namespace of its child, or in none", obj.GetNamespace(), owner.GetName(), ns)
		if obj.GetNamespace() == "" {
			problem = fmt.Sprintf("is empty, but the owner %s is in %q: it cannot own what has no namespace", owner.GetName(), ns)
		}
		return &InvalidError{Field: "desired.metadata.namespace", Problem: problem}
	}
	ref := metav1.NewControllerRef(owner, gvk)
	refs := obj.GetOwnerReferences()
	out := make([]metav1.OwnerReference, 0, len(refs)+1)
	for _, r := range refs {
		if r.UID == owner.GetUID() {
			continue
		}
		if r.Controller != nil && *r.Controller {
			return &OwnedError{Child: name, By: r, Earlier: earlier(r, *ref)}
		}
		out = append(out, r)
	}
	obj.SetOwnerReferences(append(out, *ref))
	return nil
}

// earlier reports whether two references are of one kind and name, whatever the version.
func earlier(a, b metav1.OwnerReference) bool {
	x, err1 := schema.ParseGroupVersion(a.APIVersion)
	y, err2 := schema.ParseGroupVersion(b.APIVersion)
	return err1 == nil && err2 == nil && x.Group == y.Group && a.Kind == b.Kind && a.Name == b.Name
}

func checkOwner(owner object.Object) error {
	switch {
	case owner == nil:
		return &InvalidError{Field: "owner", Problem: "is nil"}
	case owner.GetUID() == "":
		return &InvalidError{Field: "owner", Problem: fmt.Sprintf("%s has no uid: it was not read from a server", object.KeyOf(owner))}
	}
	return nil
}

// describe is the kind and key of an object, for people.
func describe(scheme *runtime.Scheme, obj object.Object) string {
	kind := fmt.Sprintf("%T", obj)
	if gvk, err := object.KindOf(scheme, obj); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + object.KeyOf(obj).String()
}

// controls reports why obj is not a child of owner; nil: it is one.
func controls(owner object.Object, gvk schema.GroupVersionKind, obj object.Object, name string) error {
	by := metav1.GetControllerOfNoCopy(obj)
	switch {
	case by == nil:
		return &UnownedError{Child: name}
	case by.UID != owner.GetUID():
		return &OwnedError{Child: name, By: *by, Earlier: earlier(*by, *metav1.NewControllerRef(owner, gvk))}
	}
	return nil
}
