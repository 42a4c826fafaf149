package child

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
)

// The default field manager is one that the API takes, for kinds and groups of any length that it allows. It tells
// kinds apart, and is the whole name where that fits.
func TestDefaultFieldOwnersAreTaken(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		draw := func(label string) schema.GroupVersionKind {
			kind := rapid.StringMatching(`[A-Z][a-zA-Z0-9]{0,62}`).Draw(r, label+" kind")
			group := rapid.StringMatching(`([a-z0-9]{1,60}\.){0,4}[a-z]{0,10}`).Draw(r, label+" group")
			return schema.GroupVersionKind{Group: strings.Trim(group, "."), Version: "v1", Kind: kind}
		}
		a := draw("a")
		b := a
		b.Group = strings.TrimPrefix(a.Group+".x", ".") // differs at the end, which a long name loses
		one, other := fieldOwner(a), fieldOwner(b)
		for _, name := range []string{one, other} {
			if errs := validation.ValidateFieldManager(name, nil); len(errs) > 0 {
				r.Fatalf("%v: %q: %v", a, name, errs)
			}
		}
		if whole := strings.TrimSuffix(strings.ToLower(a.Kind)+"."+a.Group, "."); len(whole) <= 128 && one != whole {
			r.Fatalf("%q, want %q", one, whole)
		}
		if one == other {
			r.Fatalf("%v and %v have one field manager, %q", a, b, one)
		}
	})
}
