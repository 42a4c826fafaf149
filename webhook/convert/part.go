package convert

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/flyball-io/flyball/object"
)

// Part is one version of a kind: a hub or a spoke.
type Part struct {
	own, hub       reflect.Type // struct types; hub is nil for a hub
	newOwn, newHub func() object.Object
	toHub          func(spoke, hub object.Object) error
	fromHub        func(hub, spoke object.Object) error
	missing        string // the direction whose function is nil
}

// Hub declares the version of a kind that all others convert to and from. Choose the stored
// version, or the one with the most fields.
func Hub[H any, P object.Ptr[H]]() Part {
	return Part{own: reflect.TypeFor[H](), newOwn: func() object.Object { return P(new(H)) }}
}

// Spoke declares a version S of a kind whose hub is H, with the functions between them. A function
// reads its first argument and fills its second, which has only kind and metadata. It must not keep
// either of them, and must not change the first. The second may share memory with the first. An
// error fails the review.
func Spoke[S, H any, PS object.Ptr[S], PH object.Ptr[H]](to func(spoke *S, hub *H) error, from func(hub *H, spoke *S) error) Part {
	p := Part{own: reflect.TypeFor[S](), hub: reflect.TypeFor[H](),
		newOwn:  func() object.Object { return PS(new(S)) },
		newHub:  func() object.Object { return PH(new(H)) },
		toHub:   func(spoke, hub object.Object) error { return to(spoke.(PS), hub.(PH)) },
		fromHub: func(hub, spoke object.Object) error { return from(hub.(PH), spoke.(PS)) },
	}
	if to == nil {
		p.missing = "to the hub"
	} else if from == nil {
		p.missing = "from the hub"
	}
	return p
}

// convertible is a version S with methods that convert to and from its hub H.
type convertible[S, H any] interface {
	*S
	object.Object
	ConvertTo(hub *H) error
	ConvertFrom(hub *H) error
}

// SpokeByMethods is a [Spoke] whose functions are methods of its type: ConvertTo(hub *H) error and
// ConvertFrom(hub *H) error.
func SpokeByMethods[S, H any, PS convertible[S, H], PH object.Ptr[H]]() Part {
	return Spoke[S, H, PS, PH](
		func(spoke *S, hub *H) error { return PS(spoke).ConvertTo(hub) },
		func(hub *H, spoke *S) error { return PS(spoke).ConvertFrom(hub) },
	)
}

// IsHub reports whether the part is a hub.
func (p Part) IsHub() bool { return p.own != nil && p.hub == nil }

// NewSpoke returns an empty object of the spoke's type. For a hub it is the hub's type.
func (p Part) NewSpoke() object.Object { return p.newOwn() }

// NewHub returns an empty object of the hub's type. The part must be a spoke.
func (p Part) NewHub() object.Object { return p.newHub() }

var errNotSpoke = errors.New("convert: the part is not a spoke")

// ToHub fills a hub from a spoke, as the handler does: metadata first, then the function.
func (p Part) ToHub(spoke, hub object.Object) error { return p.step(spoke, hub, p.toHub, p.own, p.hub) }

// FromHub fills a spoke from a hub.
func (p Part) FromHub(hub, spoke object.Object) error {
	return p.step(hub, spoke, p.fromHub, p.hub, p.own)
}

func (p Part) step(src, dst object.Object, convert func(src, dst object.Object) error, from, to reflect.Type) error {
	if p.hub == nil || p.missing != "" {
		return errNotSpoke
	}
	if s, d := reflect.TypeOf(src), reflect.TypeOf(dst); s != reflect.PointerTo(from) || d != reflect.PointerTo(to) {
		return fmt.Errorf("convert: the objects are %v and %v, want *%v and *%v", s, d, from, to)
	}
	return step(src, dst, convert)
}

// step runs a conversion function, and rejects changes of name, namespace and uid.
func step(src, dst object.Object, convert func(src, dst object.Object) error) error {
	copyMeta(src, dst)
	kind := dst.GetObjectKind().GroupVersionKind()
	if err := convert(src, dst); err != nil {
		return err
	}
	dst.GetObjectKind().SetGroupVersionKind(kind) // functions that assign whole structs overwrite the kind
	for _, f := range []struct{ field, was, is string }{
		{"name", src.GetName(), dst.GetName()},
		{"namespace", src.GetNamespace(), dst.GetNamespace()},
		{"uid", string(src.GetUID()), string(dst.GetUID())},
	} {
		if f.was != f.is {
			return fmt.Errorf("the conversion changed metadata.%s from %q to %q", f.field, f.was, f.is)
		}
	}
	return nil
}

// copyMeta copies the metadata of src to dst. They share maps and slices, since dst is only encoded
// next. Labels and annotations are new maps, since a function may change them.
func copyMeta(src, dst object.Object) {
	dst.SetName(src.GetName())
	dst.SetGenerateName(src.GetGenerateName())
	dst.SetNamespace(src.GetNamespace())
	dst.SetUID(src.GetUID())
	dst.SetResourceVersion(src.GetResourceVersion())
	dst.SetGeneration(src.GetGeneration())
	dst.SetSelfLink(src.GetSelfLink())
	dst.SetCreationTimestamp(src.GetCreationTimestamp())
	dst.SetDeletionTimestamp(src.GetDeletionTimestamp())
	dst.SetDeletionGracePeriodSeconds(src.GetDeletionGracePeriodSeconds())
	dst.SetLabels(maps.Clone(src.GetLabels()))
	dst.SetAnnotations(maps.Clone(src.GetAnnotations()))
	dst.SetFinalizers(src.GetFinalizers())
	dst.SetOwnerReferences(src.GetOwnerReferences())
	dst.SetManagedFields(src.GetManagedFields())
}
