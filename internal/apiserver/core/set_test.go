package core

import (
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
)

// Sets are to selectors what maps are.
func TestSetsAreMaps(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "b", "metadata.name", "metadata.namespace", "a-text-of-more-than-127-characters-" + string(make([]byte, 200))})
	rapid.Check(t, func(r *rapid.T) {
		m := rapid.MapOf(text, text).Draw(r, "map")
		m[fieldName] = rapid.SampledFrom([]string{"a", "b"}).Draw(r, "name")
		o := &Object{Key: "/core/toys/ns/a", labels: newSet(m), fields: newFields("/core/toys/ns/a", m)}
		for key := range rapid.MapOf(text, text).Draw(r, "keys") {
			value, ok := o.labels.Lookup(key)
			if want, has := m[key]; value != want || ok != has || o.labels.Has(key) != has || o.labels.Get(key) != want {
				r.Errorf("%q: got %q %t, want %q %t", key, value, ok, want, has)
			}
			if got, want := (selected{o}).Get(key), (fields.Set(m)).Get(key); got != want || (selected{o}).Has(key) != (fields.Set(m)).Has(key) {
				r.Errorf("field %q: got %q, want %q", key, got, want)
			}
		}
	})
	var _ labels.Labels = set{}
	var _ fields.Fields = selected{}
	if (set{}).Has("a") {
		t.Error("the zero set has a key")
	}
}
