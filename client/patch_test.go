package client

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed"
	"github.com/flyball-io/flyball/object"
)

func TestDiffHoldsOnlyChanges(t *testing.T) {
	base := func(change func(*corev1.Pod)) *corev1.Pod {
		p := pod("x")
		p.Labels = map[string]string{"a": "1", "b": "2"}
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		change(p)
		return p
	}
	before := base(func(*corev1.Pod) {})
	for name, tt := range map[string]struct {
		after *corev1.Pod
		want  string
		lock  string
	}{
		"nothing":       {base(func(*corev1.Pod) {}), `{}`, `{"metadata":{"resourceVersion":"7"}}`},
		"version alone": {base(func(p *corev1.Pod) { p.ResourceVersion = "9" }), `{}`, `{"metadata":{"resourceVersion":"7"}}`},
		"label changed, removed, added": {
			base(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "9", "c": "3"} }),
			`{"metadata":{"labels":{"a":"9","b":null,"c":"3"}}}`, `{"metadata":{"labels":{"a":"9","b":null,"c":"3"},"resourceVersion":"7"}}`,
		},
		"all labels gone": {base(func(p *corev1.Pod) { p.Labels = nil }), `{"metadata":{"labels":null}}`, `{"metadata":{"labels":null,"resourceVersion":"7"}}`},
		"a list is replaced": {
			base(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "j" }),
			`{"spec":{"containers":[{"name":"c","image":"j","resources":{}}]}}`, `{"metadata":{"resourceVersion":"7"},"spec":{"containers":[{"name":"c","image":"j","resources":{}}]}}`,
		},
	} {
		for i, p := range []PatchData{Diff(before, tt.after), DiffWithLock(before, tt.after)} {
			if p.Err() != nil {
				t.Fatalf("%s: %v", name, p.Err())
			}
			want := []string{tt.want, tt.lock}[i]
			if diff := cmp.Diff(decoded(t, want), decoded(t, string(p.Bytes()))); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
			if p.Empty() != (want == "{}") {
				t.Errorf("%s: Empty is %v", name, p.Empty())
			}
		}
	}
	for name, p := range map[string]PatchData{
		"no version to lock on": DiffWithLock(&corev1.Pod{}, before),
		"nil":                   Diff(nil, before),
		"nil pointer":           Diff(before, (*corev1.Pod)(nil)),
	} {
		if !is[*ArgumentError](p.Err()) || p.Empty() {
			t.Errorf("%s: got %v", name, p.Err())
		}
	}
}

// The patch between two objects turns the first into the second, by a merge (RFC 7386) written for the
// test. The objects have no nulls, which a merge patch cannot set.
func TestDiffAgreesWithAMerge(t *testing.T) {
	value := rapid.Deferred(anyValue)
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value, 0, 3)
		before, after := gen.Draw(t, "before"), gen.Draw(t, "after")
		p := Diff(wrap(before), wrap(after))
		if p.Err() != nil {
			t.Fatal(p.Err())
		}
		var patch map[string]any
		if err := json.Unmarshal(p.Bytes(), &patch); err != nil {
			t.Fatal(err)
		}
		got := merge(map[string]any{"spec": before}, patch)
		if diff := cmp.Diff(any(map[string]any{"spec": after}), got); diff != "" {
			t.Fatalf("patch %s:\n%s", p.Bytes(), diff)
		}
	})
}

func anyValue() *rapid.Generator[any] {
	return rapid.OneOf(
		rapid.Map(rapid.StringMatching(`[xy]?`), func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(0, 3), func(f float64) any { return f }),
		rapid.Map(rapid.SliceOfN(rapid.Deferred(anyValue), 0, 2), func(s []any) any {
			if s == nil {
				return []any{}
			}
			return s
		}),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.Deferred(anyValue), 0, 2), func(m map[string]any) any { return m }),
	)
}

func wrap(spec map[string]any) object.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "K", "spec": spec}}
}

func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if m, ok := target.(map[string]any); ok {
		for k, v := range m {
			out[k] = v
		}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = merge(out[k], v)
		}
	}
	return out
}

// A caller may change the bytes of a patch after the call.
func TestPatchOwnsItsBytes(t *testing.T) {
	b := []byte(`{"a":1}`)
	p := MergePatch(b)
	b[2] = 'z'
	if string(p.Bytes()) != `{"a":1}` {
		t.Errorf("got %s", p.Bytes())
	}
}

func TestBadPatchesAreNotSent(t *testing.T) {
	f := newFake(t)
	for name, p := range map[string]PatchData{
		"not JSON": MergePatch("{"), "not UTF-8": JSONPatch([]byte("[\"\xff\"]")), "cannot be JSON": StrategicMerge(make(chan int)), "empty": MergePatch(""),
	} {
		if _, err := Patch(t.Context(), f.client(Options{}), pod("x"), p); !is[*ArgumentError](err) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.count() != 0 {
		t.Error("a request was sent")
	}
}

func FuzzPatch(f *testing.F) {
	for _, s := range []string{"", "{}", "[]", "null", `{"a":`, "\xff", `{"metadata":{"resourceVersion":"1"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := MergePatch(b)
		if p.Err() == nil && !json.Valid(b) {
			t.Fatalf("%q is taken", b)
		}
		var before, after metav1.PartialObjectMetadata
		if json.Unmarshal(b, &after) == nil {
			d := Diff(&before, &after)
			if d.Err() == nil && !json.Valid(d.Bytes()) {
				t.Fatalf("%q is no JSON", d.Bytes())
			}
		}
	})
}

// Only a status that differs is sent, without other fields and with the version that was read.
func TestPatchStatusIfChanged(t *testing.T) {
	const path = "/api/v1/namespaces/web/pods/x/status"
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string // the body; empty: nothing is sent
	}{
		"nothing":           {func(*corev1.Pod) {}, ""},
		"beside the status": {func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"}; p.Spec.NodeName = "n" }, ""},
		"the status": {func(p *corev1.Pod) { p.Spec.NodeName = "n"; p.Status.Phase = "Running" },
			`{"metadata":{"resourceVersion":"7"},"status":{"phase":"Running"}}`},
		"a field goes": {func(p *corev1.Pod) { p.Status.Message = "" }, `{"metadata":{"resourceVersion":"7"},"status":{"message":null}}`},
		"all goes":     {func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }, `{"metadata":{"resourceVersion":"7"},"status":{"message":null}}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			answered := pod("x")
			answered.ResourceVersion = "8"
			f.on("PATCH "+path, reply(answered, podGVK))
			before := pod("x")
			before.Status.Message = "old"
			after := before.DeepCopy()
			tc.change(after)
			got, err := PatchStatusIfChanged(t.Context(), f.client(Options{}), before, after)
			switch {
			case err != nil:
				t.Fatal(err)
			case tc.want == "" && (got != after || f.count() != 0):
				t.Errorf("got %v after %d requests", got, f.count())
			case tc.want != "" && (f.count() != 1 || f.last().body != tc.want || got.ResourceVersion != "8"):
				t.Errorf("sent %v, got version %s; want %s", f.asked, got.ResourceVersion, tc.want)
			}
		})
	}
}

func TestPatchStatusIfChangedFails(t *testing.T) {
	f := newFake(t)
	f.on("PATCH /api/v1/namespaces/web/pods/x/status", status(409, metav1.StatusReasonConflict, ""))
	c := f.client(Options{})
	changed := pod("x")
	changed.Status.Phase = "Running"
	if _, err := PatchStatusIfChanged(t.Context(), c, pod("x"), changed); !is[*ConflictError](err) {
		t.Errorf("changed on the server: got %v", err)
	}
	unread := pod("x")
	unread.ResourceVersion = ""
	if _, err := PatchStatusIfChanged(t.Context(), c, unread, changed); !is[*ArgumentError](err) {
		t.Errorf("not read from a server: got %v", err)
	}
	if _, err := PatchStatusIfChanged(t.Context(), c, nil, changed); !is[*ArgumentError](err) {
		t.Errorf("nil before: got %v", err)
	}
	if _, err := PatchStatusIfChanged(t.Context(), c, pod("x"), nil); err == nil {
		t.Error("nil after: no error")
	}
	changed.Status.Message = "\xff"
	if _, err := PatchStatusIfChanged(t.Context(), c, pod("x"), changed); !is[*ArgumentError](err) {
		t.Errorf("not UTF-8: got %v", err)
	}
	if f.count() != 1 {
		t.Errorf("%d requests were sent, want one", f.count())
	}
}
