package client

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The text of ListOptions has every option that is set, and nothing else.
func TestListOptionsAreNamedInFull(t *testing.T) {
	if got := (ListOptions{}).String(); got != "" {
		t.Errorf("the zero options are %q", got)
	}
	o := ListOptions{
		Kind:      schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Selection: Selection{Namespace: "web", Labels: labels.SelectorFromSet(labels.Set{"a": "b"}), Fields: fields.Nothing(), MetadataOnly: true},
		Limit:     5, Continue: "token", ResourceVersion: "7", Match: "Exact", Inconsistent: true, EvenUnavailable: true,
	}
	got := o.String()
	for _, want := range []string{"namespace=web labels=a=b fields=<nothing> metadata-only", "kind=/v1, Kind=Pod", "limit=5", "continue=token", "resourceVersion=7", "match=Exact", "inconsistent=true", "even-unavailable=true"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && v.Field(i).IsZero() {
			t.Errorf("%s is not part of this test", f.Name)
		}
	}
}
