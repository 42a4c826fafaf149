package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
)

// A list of a kind without a Go type is one of a name of its own only if its items say so, or those of
// one of that name have.
func TestListKindOfItsOwn(t *testing.T) {
	kind := &wire.Kind{GVK: things.GVK, Scheme: types}
	list := func(name string, items ...string) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":%q,"metadata":{"resourceVersion":"9"},"items":[%s]}`, name, strings.Join(items, ","))
	}
	ours, silent := string(thing("a", "")), `{"metadata":{"name":"a"}}`
	other := `{"apiVersion":"example.com/v1","kind":"Other","metadata":{"name":"a"}}`
	for _, tt := range []struct {
		body string
		ok   bool
	}{
		{list("ThingList"), true},
		{list("ThingList", silent), true},
		{list("Whatever"), false},
		{list("OtherList"), false},
		{list("ThingCollection"), false},
		{list("ThingCollection", silent), false},
		{list("ThingCollection", other), false},
		{list("ThingCollection", other, silent, ours), true},
		{list("ThingCollection"), true}, // it is known now
		{list("Whatever"), false},
		{`{"items":[` + ours + `],"apiVersion":"example.com/v1","kind":"Things"}`, true},
		{`{"apiVersion":"example.com/v1","kind":"Things","items":null}`, true},
		{`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}}`, false},
	} {
		_, _, _, err := drain(t, strings.NewReader(tt.body), wire.ContentTypeJSON, kind, wire.Limits{})
		if wrong := (*wire.KindError)(nil); errors.As(err, &wrong) == tt.ok || tt.ok && err != nil {
			t.Errorf("%s: %v", tt.body, err)
		}
	}
	_, _, _, err := drain(t, strings.NewReader(`{"apiVersion":"example.com/v1","kind":"ThingList","metadata":{}}`), wire.ContentTypeJSON, kind, wire.Limits{})
	if bad := (*wire.SyntaxError)(nil); !errors.As(err, &bad) {
		t.Errorf("a list without items: %v", err)
	}
}

// podCollection is a list type of a name of its own.
type podCollection struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []corev1.Pod
}

func (c *podCollection) DeepCopyObject() runtime.Object { return &podCollection{Items: c.Items} }

func TestListKindOfTheScheme(t *testing.T) {
	s := runtime.NewScheme()
	gv := schema.GroupVersion{Version: "v1"}
	s.AddKnownTypeWithName(gv.WithKind("Pod"), &corev1.Pod{})
	s.AddKnownTypeWithName(gv.WithKind("PodCollection"), &podCollection{})
	s.AddKnownTypeWithName(gv.WithKind("ServiceList"), &corev1.ServiceList{})
	kind := &wire.Kind{GVK: gv.WithKind("Pod"), Scheme: s}
	for name, ok := range map[string]bool{"PodList": true, "PodCollection": true, "ServiceList": false, "Pod": false, "Whatever": false} {
		_, _, _, err := drain(t, strings.NewReader(fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"items":[]}`, name)), wire.ContentTypeJSON, kind, wire.Limits{})
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An event whose object is none concerns that event only.
func TestEventWithoutAnObject(t *testing.T) {
	for name, in := range map[string]struct {
		enc wire.Encoding
		in  string
	}{
		"nothing":           {wire.JSON, `{"type":"ADDED"}`},
		"nothing, protobuf": {wire.Protobuf, string(frame("ADDED", nil))},
		"no envelope":       {wire.Protobuf, string(frame("ADDED", []byte("nonsense")))},
		"JSON inside":       {wire.Protobuf, string(frame("ADDED", []byte(`{"kind":"Pod"}`)))},
		"bookmark":          {wire.JSON, `{"type":"BOOKMARK"}`},
	} {
		after, _ := stockWatch(t, in.enc, event{"ADDED", typedPod(1)})
		frames, bad, err := drainWatch(t, strings.NewReader(in.in+string(after)), watchType(in.enc), pods, wire.Limits{})
		readable := 0
		for _, f := range frames {
			if _, err := f.Object.Header(); err == nil {
				readable++
			}
		}
		if err != nil || readable != 1 || len(frames)+len(bad) != 2 {
			t.Errorf("%s: %d frames, %v, %v", name, len(frames), bad, err)
		}
	}
}
