package cache_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
)

func requirement(key string, op selection.Operator, values ...string) labels.Selector {
	r, err := labels.NewRequirement(key, op, values)
	if err != nil {
		panic(err)
	}
	return labels.NewSelector().Add(*r)
}

// Selections share an informer only if they mean the same, whatever their text is.
func TestSharedBySelectionsThatMeanTheSame(t *testing.T) {
	type sel = client.Selection
	for name, test := range map[string]struct {
		a, b sel
		same bool
	}{
		"no fields and everything":      {sel{}, sel{Fields: fields.Everything()}, true},
		"no labels and everything":      {sel{}, sel{Labels: labels.Everything()}, true},
		"no fields and nothing":         {sel{}, sel{Fields: fields.Nothing()}, false},
		"every field and nothing":       {sel{Fields: fields.Everything()}, sel{Fields: fields.Nothing()}, false},
		"no labels and nothing":         {sel{}, sel{Labels: labels.Nothing()}, false},
		"nothing twice":                 {sel{Fields: fields.Nothing()}, sel{Fields: fields.Nothing()}, true},
		"nothing by labels, by fields":  {sel{Labels: labels.Nothing()}, sel{Fields: fields.Nothing()}, false},
		"one field, another":            {sel{Fields: fields.OneTermEqualSelector("a", "b")}, sel{Fields: fields.OneTermEqualSelector("a", "c")}, false},
		"one field, not that":           {sel{Fields: fields.OneTermEqualSelector("a", "b")}, sel{Fields: fields.OneTermNotEqualSelector("a", "b")}, false},
		"two fields, in either order":   {sel{Fields: fields.ParseSelectorOrDie("a=b,c=d")}, sel{Fields: fields.ParseSelectorOrDie("c=d,a=b")}, true},
		"two fields, one with a comma":  {sel{Fields: fields.ParseSelectorOrDie("a=b,c=d")}, sel{Fields: fields.OneTermEqualSelector("a", "b,c=d")}, false},
		"the same field":                {sel{Fields: fields.ParseSelectorOrDie("a==b")}, sel{Fields: fields.ParseSelectorOrDie("a=b")}, true},
		"two labels, one with a comma":  {sel{Labels: labels.SelectorFromSet(labels.Set{"a": "b", "c": "d"})}, sel{Labels: labels.SelectorFromSet(labels.Set{"a": "b,c=d"})}, false},
		"values in either order":        {sel{Labels: requirement("a", selection.In, "x", "y")}, sel{Labels: requirement("a", selection.In, "y", "x")}, true},
		"in, not in":                    {sel{Labels: requirement("a", selection.In, "x")}, sel{Labels: requirement("a", selection.NotIn, "x")}, false},
		"exists, does not exist":        {sel{Labels: requirement("a", selection.Exists)}, sel{Labels: requirement("a", selection.DoesNotExist)}, false},
		"metadata and whole objects":    {sel{MetadataOnly: true}, sel{}, false},
		"one namespace and another one": {sel{Namespace: "a"}, sel{Namespace: "b"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache(t, newCluster(), cache.Options{})
			open := func(s sel) *cache.Handle {
				share, err := c.Open(t.Context(), &corev1.ConfigMap{}, s)
				if err != nil {
					t.Fatal(err)
				}
				return share
			}
			a, b := open(test.a), open(test.b)
			defer a.Close()
			defer b.Close()
			if got := a.Informer() == b.Informer(); got != test.same {
				t.Errorf("%q and %q share an informer: %v, want %v", test.a, test.b, got, test.same)
			}
		})
	}
}

func TestSelectionOfNothingSaysSo(t *testing.T) {
	for _, s := range []client.Selection{{Labels: labels.Nothing()}, {Fields: fields.Nothing()}} {
		if got := s.String(); got != "labels=<nothing>" && got != "fields=<nothing>" {
			t.Errorf("%#v is %q", s, got)
		}
	}
}
