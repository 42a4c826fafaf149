package sparse

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type values struct {
	metav1.TypeMeta `json:",inline"`
	Raw             runtime.RawExtension            `json:"raw"`
	RawPointer      *runtime.RawExtension           `json:"rawPointer,omitempty"`
	Any             apiextensionsv1.JSON            `json:"any"`
	AnyOf           map[string]apiextensionsv1.JSON `json:"anyOf,omitempty"`
	Inner           []map[string]any                `json:"inner,omitempty"`
	Interface       any                             `json:"interface"`
	Lists           map[string][]string             `json:"lists,omitempty"`
	List            []string                        `json:"list"`
	Elements        []*int                          `json:"elements,omitempty"`
	Time            metav1.Time                     `json:"time"`
	Port            intstr.IntOrString              `json:"port,omitempty"`
	Sub             struct {
		A *int `json:"a"`
	} `json:"sub,omitempty"`
	Plain *int
}

// Nulls that the type writes for an empty value are removed; nulls that the value sets stay.
func TestOnlyUnsetNullsAreRemoved(t *testing.T) {
	raw := func(s string) runtime.RawExtension { return runtime.RawExtension{Raw: []byte(s)} }
	for name, tc := range map[string]struct {
		v            any
		nulls, unset string
	}{
		"zero": {&values{}, `{"port":0,"sub":{}}`, `{}`},
		"said": {&values{
			Raw: raw(`{"ingress":null,"a":[null,{"b":null}]}`), RawPointer: new(raw(`null`)),
			Any: apiextensionsv1.JSON{Raw: []byte(`null`)}, AnyOf: map[string]apiextensionsv1.JSON{"x": {Raw: []byte(`{"y":null}`)}, "z": {}},
			Inner: []map[string]any{{"a": nil}}, Interface: map[string]any{"b": nil},
			Lists: map[string][]string{"none": nil, "one": {"x"}}, Elements: []*int{nil, new(1)},
		},
			`{"raw":{"ingress":null,"a":[null,{"b":null}]},"rawPointer":null,"any":null,"anyOf":{"x":{"y":null}},"inner":[{"a":null}],"interface":{"b":null},"lists":{"one":["x"]},"elements":[null,1],"port":0,"sub":{}}`,
			`{"raw":{"ingress":null,"a":[null,{"b":null}]},"rawPointer":null,"any":null,"anyOf":{"x":{"y":null}},"inner":[{"a":null}],"interface":{"b":null},"lists":{"one":["x"]},"elements":[null,1]}`,
		},
		"time": {&values{Time: metav1.NewTime(time.Unix(0, 0).UTC()), Port: intstr.FromString("http")}, `{"time":"1970-01-01T00:00:00Z","port":"http","sub":{}}`, `{"time":"1970-01-01T00:00:00Z","port":"http"}`},
		"deployment": {&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}}}},
			`{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"a","resources":{}}]}},"strategy":{}},"status":{}}`,
			`{"spec":{"template":{"spec":{"containers":[{"name":"a"}]}}}}`},
		"pointer": {new(&values{}), `{"port":0,"sub":{}}`, `{}`},
	} {
		for what, f := range map[string]struct {
			drop func(any, map[string]any)
			want string
		}{"nulls": {Nulls, tc.nulls}, "unset": {Unset, tc.unset}} {
			data, err := json.Marshal(tc.v)
			if err != nil {
				t.Fatal(err)
			}
			var m, want map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			f.drop(tc.v, m)
			if err := json.Unmarshal([]byte(f.want), &want); err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(m)
			wanted, _ := json.Marshal(want)
			if !bytes.Equal(got, wanted) {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, what, got, wanted)
			}
		}
	}
}
