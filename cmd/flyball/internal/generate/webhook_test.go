package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-tools/pkg/webhook"

	"github.com/flyball-io/flyball/internal/manifest"
)

// plainHook is a marker with all that it needs.
func plainHook(mutating bool) webhook.Config {
	return webhook.Config{Mutating: mutating, FailurePolicy: "fail", SideEffects: "None", Groups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}, Versions: []string{"v1"}, Name: "a.example.com", Path: "/p", AdmissionReviewVersions: []string{"v1"}}
}

// markerFields has a value for each field of a webhook's marker.
var markerFields = map[string]any{
	"FailurePolicy": "ignore", "MatchPolicy": "Exact", "SideEffects": "NoneOnDryRun", "TimeoutSeconds": 7, "Groups": []string{"apps", "batch"},
	"Resources": []string{"jobs", "jobs/status"}, "Verbs": []string{"update", "connect"}, "Versions": []string{"v1", "v2"}, "Name": "b.example.com",
	"ServiceName": "s", "ServiceNamespace": "n", "Path": "/other", "ServicePort": ptr(int32(8)), "AdmissionReviewVersions": []string{"v1", "v1beta1"},
	"ReinvocationPolicy": "IfNeeded", "URL": "https://example.com/x", "Patch": `{"timeoutSeconds":9}`,
	"WebhookVersions": []string{"v1"},
}

func ptr[T any](v T) *T { return &v }

// patches have a value for each field of a webhook of the API that a marker's patch can set.
var patches = map[string]string{
	"name": `"c.example.com"`, "clientConfig": `{"caBundle":"YQ=="}`, "rules": `[{"operations":["DELETE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"scope":"Namespaced"}]`,
	"failurePolicy": `"Ignore"`, "matchPolicy": `"Exact"`, "namespaceSelector": `{"matchLabels":{"team":"a"},"matchExpressions":[{"key":"off","operator":"DoesNotExist"}]}`,
	"objectSelector": `{"matchLabels":{"x":"y"}}`, "sideEffects": `"Unknown"`, "timeoutSeconds": `3`, "admissionReviewVersions": `["v1beta1"]`,
	"matchConditions": `[{"name":"a","expression":"true"}]`, "reinvocationPolicy": `"IfNeeded"`,
}

// Every field of the marker, and of the webhook types by its patch, arrives; the project's namespaces only narrow it.
func TestEveryFieldOfAWebhookArrives(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {HookNamespace: "system"}, {HookNamespace: "system", RoleNamespace: "system"}} {
		for _, mutating := range []bool{true, false} {
			for f := range fields(webhook.Config{}) {
				if f == "Mutating" || !mutating && f == "ReinvocationPolicy" {
					continue
				}
				value, known := markerFields[f]
				if !known {
					t.Fatalf("the marker has a field %s that this test does not know", f)
				}
				hook := plainHook(mutating)
				reflect.ValueOf(&hook).Elem().FieldByName(f).Set(reflect.ValueOf(value))
				if f == "URL" {
					hook.Path = ""
				}
				arrives(t, o, hook, f)
			}
			typed := any(admissionv1.ValidatingWebhook{})
			if mutating {
				typed = admissionv1.MutatingWebhook{}
			}
			for f := range fields(typed) {
				value, known := patches[f]
				if !known {
					t.Fatalf("the API has a field %s that this test does not know", f)
				}
				hook := plainHook(mutating)
				hook.Patch = fmt.Sprintf(`{%q:%s}`, f, value)
				arrives(t, o, hook, f)
			}
		}
	}
}

// fields returns the names of a struct's fields, those of JSON if it has them.
func fields(v any) map[string]bool {
	out := map[string]bool{}
	for f := range reflect.TypeOf(v).Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		out[name] = true
	}
	return out
}

// arrives compares the manifest of a marker with what the marker says.
func arrives(t *testing.T, o Options, c webhook.Config, about string) {
	t.Helper()
	p := &project{Options: o, marks: []*mark{{value: c}}}
	text, err := p.webhooks()
	if err != nil {
		t.Fatalf("%s: %v", about, err)
	}
	objs, err := manifest.Decode("", bytes.NewReader(text))
	if err != nil || len(objs) != 1 {
		t.Fatalf("%s: %v, %d objects", about, err, len(objs))
	}
	var got, want admissionv1.MutatingWebhook // which has all fields of the other one
	var asked any
	if c.Mutating {
		asked, err = c.ToMutatingWebhook()
	} else {
		asked, err = c.ToValidatingWebhook()
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(asked)
	if err != nil {
		t.Fatal(err)
	}
	var list admissionv1.MutatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objs[0].Object, &list); err != nil || len(list.Webhooks) != 1 {
		t.Fatal(err, list)
	}
	got = list.Webhooks[0]
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"system", "kube-system", "x"} {
		for _, set := range []labels.Set{{}, {"team": "a"}, {"team": "a", "off": "x"}} {
			set[corev1.LabelMetadataName] = namespace
			own := selects(t, p.selection(want.Rules), set)
			if g, w := selects(t, got.NamespaceSelector, set), own && selects(t, want.NamespaceSelector, set); g != w {
				t.Errorf("%s with %+v: called for %v: %t, want %t", about, o, set, g, w)
			}
		}
	}
	got.NamespaceSelector, want.NamespaceSelector = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -marker +manifest:\n%s", about, diff)
	}
}

func selects(t *testing.T, by *metav1.LabelSelector, set labels.Set) bool {
	t.Helper()
	if by == nil {
		return true
	}
	s, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(set)
}
