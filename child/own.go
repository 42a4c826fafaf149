package child

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// Own adds a controller reference to obj that names owner. The garbage collector then deletes obj after
// the owner, a foreground deletion of the owner waits for obj, and controller.Owns maps obj to owner.
// Own keeps the owner references of others. It sends nothing.
//
// The error is an *option.Error for an owner that was not read from a server, and for a namespaced owner
// of an object in another namespace or in none. It is an *TakenError if another object controls obj, and
// an *object.UnknownKindError if the kind of owner is unknown.
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
		return invalid("desired.metadata.namespace", problem)
	}
	ref := metav1.NewControllerRef(owner, gvk)
	refs := obj.GetOwnerReferences()
	out := make([]metav1.OwnerReference, 0, len(refs)+1)
	for _, r := range refs {
		if r.UID == owner.GetUID() {
			continue
		}
		if r.Controller != nil && *r.Controller {
			return &TakenError{Child: name, By: &r, Earlier: earlier(r, *ref)}
		}
		out = append(out, r)
	}
	obj.SetOwnerReferences(append(out, *ref))
	return nil
}

// earlier reports whether two references have the same group, kind and name, in any version.
func earlier(a, b metav1.OwnerReference) bool {
	x, err1 := schema.ParseGroupVersion(a.APIVersion)
	y, err2 := schema.ParseGroupVersion(b.APIVersion)
	return err1 == nil && err2 == nil && x.Group == y.Group && a.Kind == b.Kind && a.Name == b.Name
}

func checkOwner(owner object.Object) error {
	switch {
	case owner == nil:
		return invalid("owner", "is nil")
	case owner.GetUID() == "":
		return invalid("owner", fmt.Sprintf("%s has no uid: it was not read from a server", object.KeyOf(owner)))
	}
	return nil
}

// describe returns the kind and the key of an object, for people.
func describe(scheme *runtime.Scheme, obj object.Object) string {
	kind := fmt.Sprintf("%T", obj)
	if gvk, err := object.KindOf(scheme, obj); err == nil {
		kind = gvk.Kind
	}
	return kind + " " + object.KeyOf(obj).String()
}

// taken returns the error for an object that owner does not control, or nil.
func taken(owner object.Object, gvk schema.GroupVersionKind, obj object.Object, name string) *TakenError {
	by := metav1.GetControllerOfNoCopy(obj)
	switch {
	case by == nil:
		return &TakenError{Child: name}
	case by.UID != owner.GetUID():
		return &TakenError{Child: name, By: by, Earlier: earlier(*by, *metav1.NewControllerRef(owner, gvk))}
	}
	return nil
}
