package ctrlcache

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
)

// TransformStripManagedFields has the name of the known one, and also takes the values of Secrets.
func TransformStripManagedFields() toolscache.TransformFunc {
	return func(o any) (any, error) {
		if s, ok := o.(*corev1.Secret); ok {
			s.Data = nil
		}
		o.(metav1.Object).SetManagedFields(nil)
		return o, nil
	}
}

type stripper struct{}

func (stripper) TransformStripManagedFields() toolscache.TransformFunc {
	return func(o any) (any, error) { return o, nil }
}

//go:noinline
func inAnotherFunction() toolscache.TransformFunc { return crcache.TransformStripManagedFields() }

var ofPackage = crcache.TransformStripManagedFields()

// The known transform is recognized however the compiler has copied it. Every other function is called, whatever its
// name is and whatever it does.
func TestTheKnownTransformIsRecognized(t *testing.T) {
	local := func() toolscache.TransformFunc { return crcache.TransformStripManagedFields() }
	for name, f := range map[string]toolscache.TransformFunc{
		"here": crcache.TransformStripManagedFields(), "in a function": inAnotherFunction(), "in a closure": local(), "of a package": ofPackage,
		"by a variable": func(make func() toolscache.TransformFunc) toolscache.TransformFunc { return make() }(crcache.TransformStripManagedFields),
	} {
		if !stripsManagedFields(f) {
			t.Errorf("%s: not recognized: %v", name, codeOf(f))
		}
	}
	known := crcache.TransformStripManagedFields()
	for name, f := range map[string]toolscache.TransformFunc{
		"of the same name": TransformStripManagedFields(), "a method": stripper{}.TransformStripManagedFields(),
		"one that calls it": func(o any) (any, error) { return known(o) }, "nil": nil,
		"a function": func(o any) (any, error) { return o, nil },
	} {
		if stripsManagedFields(f) {
			t.Errorf("%s is taken for the known one: %v", name, codeOf(f))
		}
	}
}

// What the known transform does is what cutting managedFields does, and nothing else.
func TestTheKnownTransformOnlyStrips(t *testing.T) {
	s := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{Kind: "Secret"}, Data: map[string][]byte{"a": {1}},
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{"f"}},
	}
	want := s.DeepCopy()
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	if out, err := crcache.TransformStripManagedFields()(s); err != nil || out != any(s) || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v", s, err)
	}
}
