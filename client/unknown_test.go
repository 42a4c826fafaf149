package client

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/decode"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// partWidget is a Go type that is older than its kind.
type partWidget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Size  int `json:"size,omitempty"`
		Rules []struct {
			Path string `json:"path"`
		} `json:"rules,omitempty"`
	} `json:"spec"`
	Status struct {
		Ready bool `json:"ready,omitempty"`
	} `json:"status"`
}

func (w *partWidget) DeepCopyObject() runtime.Object {
	d := *w
	d.Spec.Rules = slices.Clone(w.Spec.Rules)
	return &d
}

const widgetPath = "/apis/example.com/v1/namespaces/web/widgets/w"

// widgetText is a version of a widget with a field that partWidget lacks.
func widgetText(version int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"web","uid":"u","resourceVersion":"%d"},"spec":{"size":1,"color":"red","rules":[{"path":"/a","cost":1}]},"status":{"phase":"Done"}}`, version)
}

func widgetScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(widgetGVK, &partWidget{})
	return s
}

// widgetClient talks to a server that has a widget of version 1 and answers updates with version 2.
func widgetClient(t *testing.T) (*fake, *Live) {
	f := newFake(t)
	f.on("GET "+widgetPath, text(200, wire.ContentTypeJSON, widgetText(1)))
	f.on("GET /apis/example.com/v1/namespaces/web/widgets", text(200, wire.ContentTypeJSON,
		`{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":"9"},"items":[`+widgetText(1)+`]}`))
	for _, path := range []string{widgetPath, widgetPath + "/status"} {
		f.on("PUT "+path, text(200, wire.ContentTypeJSON, widgetText(2)))
		f.on("PATCH "+path, text(200, wire.ContentTypeJSON, widgetText(2)))
	}
	return f, f.client(Options{Scheme: widgetScheme()})
}

func (f *fake) requests() (all []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asked {
		all = append(all, a.method+" "+strings.TrimPrefix(a.path, "/apis/example.com/v1/namespaces/web/widgets"))
	}
	return all
}

// wantBody is the expected body of an update of size and path to 2.
func wantBody(version int, size int, path, more string) string {
	return fmt.Sprintf(`{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w","namespace":"web","uid":"u","resourceVersion":"%d"},"spec":{"size":%d,"rules":[{"path":"%s","cost":1}],"color":"red"},"status":{%s"phase":"Done"}}`+"\n", version, size, path, more)
}

// An update of an object that was read keeps its unknown fields, and so does an update of its answer. It
// costs no further request.
func TestUpdateKeepsUnknownFields(t *testing.T) {
	f, c := widgetClient(t)
	w, err := Get[partWidget](t.Context(), c, key("w"))
	if err != nil {
		t.Fatal(err)
	}
	w.Spec.Size, w.Spec.Rules[0].Path = 2, "/b"
	w, err = Update(t.Context(), c, w)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.last().body, wantBody(1, 2, "/b", ""); got != want {
		t.Errorf("sent\n%s want\n%s", got, want)
	}
	w.Status.Ready = true
	if _, err := UpdateStatus(t.Context(), c.Fenced(func(Call) error { return nil }), w); err != nil {
		t.Fatal(err)
	}
	if got, want := f.last().body, wantBody(2, 1, "/a", `"ready":true,`); got != want {
		t.Errorf("sent\n%s want\n%s", got, want)
	}
	equal(t, "requests", f.requests(), []string{"GET /w", "PUT /w", "PUT /w/status"})
}

// A version that is not in memory is read once more. If the server has another version, the update is
// sent as it is.
func TestUpdateReadsAVersionThatIsNotInMemory(t *testing.T) {
	for _, tt := range []struct {
		name    string
		now     http.HandlerFunc
		keeps   bool
		refused any
	}{
		{"as it was", text(200, wire.ContentTypeJSON, widgetText(1)), true, nil},
		{"changed", text(200, wire.ContentTypeJSON, widgetText(3)), false, nil},
		{"gone", absent("example.com", "widgets", "w"), false, nil},
		{"may not be read", status(403, metav1.StatusReasonForbidden, ""), false, new(*ForbiddenError)},
		{"no object", text(200, wire.ContentTypeJSON, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":[]}`), false, new(*wire.DecodeError)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, c := widgetClient(t)
			for w, err := range List[partWidget](t.Context(), c, InNamespace("web")) {
				if err != nil {
					t.Fatal(err)
				}
				f.on("GET "+widgetPath, tt.now)
				w.Spec.Size = 2
				_, err = Update(t.Context(), c, w)
				if tt.refused != nil {
					if _, ok := errors.AsType[*UnknownFieldsError](err); !ok || !errors.As(err, tt.refused) {
						t.Errorf("error %v", err)
					}
					equal(t, "requests", f.requests(), []string{"GET ", "GET /w"})
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				equal(t, "requests", f.requests(), []string{"GET ", "GET /w", "PUT /w"})
				if got := f.last().body; (got == wantBody(1, 2, "/a", "")) != tt.keeps || strings.Contains(got, "color") != tt.keeps {
					t.Errorf("sent %s", got)
				}
			}
		})
	}
}

// holder has one widget.
type holder struct{ raw wire.Raw }

func (h holder) Held(kind schema.GroupVersionKind, k object.Key, uid types.UID, version string) (body []byte, protobuf, ok bool) {
	return h.raw.Bytes, false, kind == widgetGVK && k == key("w") && uid == "u" && version == "1"
}

func TestUpdateUsesTheHolder(t *testing.T) {
	f, c := widgetClient(t)
	raw := wire.Raw{Kind: &wire.Kind{GVK: widgetGVK, Scheme: c.scheme}, Encoding: wire.JSON, Bytes: []byte(widgetText(1))}
	w := &partWidget{}
	if err := raw.Decode(w); err != nil {
		t.Fatal(err)
	}
	w.Spec.Size = 2
	if _, err := Update(t.Context(), c.HeldBy(holder{raw}.Held), w); err != nil {
		t.Fatal(err)
	}
	equal(t, "requests", f.requests(), []string{"PUT /w"})
	if got, want := f.last().body, wantBody(1, 2, "/a", ""); got != want {
		t.Errorf("sent\n%s want\n%s", got, want)
	}
}

// If the place of unknown fields is ambiguous, nothing is sent without DropUnknown.
func TestAmbiguousUnknownFieldsAreNotSent(t *testing.T) {
	f, c := widgetClient(t)
	w, err := Get[partWidget](t.Context(), c, key("w"))
	if err != nil {
		t.Fatal(err)
	}
	w.Spec.Rules = append(w.Spec.Rules, w.Spec.Rules...)
	w.Spec.Rules[0].Path, w.Spec.Rules[1].Path = "/x", "/y"
	_, err = Update(t.Context(), c, w)
	place, ok := errors.AsType[*decode.PlaceError](err)
	if !ok || place.Field != "spec.rules" || !slices.Equal(place.Names, []string{"cost"}) {
		t.Errorf("error %v", err)
	}
	if e, ok := errors.AsType[*UnknownFieldsError](err); !ok || e.Key != key("w") || e.Verb != "update" {
		t.Errorf("error %v", err)
	}
	equal(t, "requests", f.requests(), []string{"GET /w"})
	if _, err := Update(t.Context(), c, w, DropUnknown{}); err != nil {
		t.Fatal(err)
	}
	if got := f.last().body; strings.Contains(got, "color") {
		t.Errorf("sent %s", got)
	}
	if _, err := Create(t.Context(), c, w, DropUnknown{}); !errors.As(err, new(*ArgumentError)) {
		t.Error(err)
	}
}

// An object that was not read, and anything but an update, is sent as it is.
func TestOtherWritesAreSentAsTheyAre(t *testing.T) {
	f, c := widgetClient(t)
	before, err := Get[partWidget](t.Context(), c, key("w"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		do   func(w *partWidget) (*partWidget, error)
	}{
		{"no version", func(w *partWidget) (*partWidget, error) { w.ResourceVersion = ""; return Update(t.Context(), c, w) }},
		{"no uid", func(w *partWidget) (*partWidget, error) { w.UID = ""; return Update(t.Context(), c, w) }},
		{"patch", func(w *partWidget) (*partWidget, error) { return Patch(t.Context(), c, w, Diff(before, w)) }},
		{"apply", func(w *partWidget) (*partWidget, error) { return Apply(t.Context(), c, w, "me") }},
	} {
		w := before.DeepCopyObject().(*partWidget)
		w.Spec.Size = 2
		n := f.count()
		if _, err := tt.do(w); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if body := f.last().body; f.count() != n+1 || strings.Contains(body, "color") || strings.Contains(body, "cost") {
			t.Errorf("%s: %d requests, sent %s", tt.name, f.count()-n, body)
		}
	}
}

// Unknown fields of protobuf stay; if the server takes only JSON and no JSON was read, the update fails.
// Other tests do not use this type: its unknown fields would cost them further requests.
func TestUpdateKeepsUnknownMessages(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "1"}}
	node.Spec.Taints = []corev1.Taint{{Key: "a"}}
	raw, err := node.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	raw = protowire.AppendString(protowire.AppendTag(raw, 900, protowire.BytesType), "newer")
	body := protowire.AppendBytes([]byte("k8s\x00\x0a\x0a\x0a\x02v1\x12\x04Node\x12"), raw)
	f := newFake(t)
	read := text(200, wire.ContentTypeProtobuf, string(append(body, "\x1a\x00\x22\x00"...)))
	f.on("GET /api/v1/nodes/n", read)
	f.on("PUT /api/v1/nodes/n", inTurn(read, status(415, metav1.StatusReasonUnsupportedMediaType, "")))
	c := f.client(Options{Scheme: testScheme})
	got, err := Get[corev1.Node](t.Context(), c, object.Key{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	got.Spec.Taints[0].Value = "v"
	if _, err := Update(t.Context(), c, got); err != nil {
		t.Fatal(err)
	}
	var back corev1.Node
	content, err := contentOf(corev1.SchemeGroupVersion.WithKind("Node"), wire.ContentTypeProtobuf, []byte(f.last().body))
	if err != nil || back.Unmarshal(content) != nil || back.Spec.Taints[0].Value != "v" || !strings.HasSuffix(string(content), "\x05newer") {
		t.Errorf("sent %q %v", f.last().body, err)
	}
	if _, err := Update(t.Context(), c, got); !errors.Is(err, errOtherForm) {
		t.Errorf("as JSON: %v", err)
	}
}

// contentOf returns the bytes of an object without the protobuf envelope.
func contentOf(gvk schema.GroupVersionKind, contentType string, body []byte) ([]byte, error) {
	raw, err := wire.ParseObject(body, contentType, &wire.Kind{GVK: gvk})
	return raw.Bytes, err
}

// A subresource of another kind has its own unknown fields.
func TestUpdateSubKeepsUnknownFields(t *testing.T) {
	const path = "/apis/apps/v1/namespaces/web/deployments/d/scale"
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: "web", UID: "u", ResourceVersion: "1"}}
	raw, err := scale.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	raw = protowire.AppendString(protowire.AppendTag(raw, 900, protowire.BytesType), "newer")
	body := protowire.AppendBytes([]byte("k8s\x00\x0a\x17\x0a\x0eautoscaling/v1\x12\x05Scale\x12"), raw)
	read := text(200, wire.ContentTypeProtobuf, string(append(body, "\x1a\x00\x22\x00"...)))
	f := newFake(t)
	f.on("GET "+path, read)
	f.on("PUT "+path, read)
	c := f.client(Options{Scheme: testScheme})
	got, err := GetSub[autoscalingv1.Scale](t.Context(), c, testobj.Deployment("web/d"), "scale")
	if err != nil {
		t.Fatal(err)
	}
	got.Spec.Replicas = 3
	c.originals = new(originals) // the version is not in memory
	if _, err := UpdateSub(t.Context(), c, testobj.Deployment("web/d"), "scale", got); err != nil {
		t.Fatal(err)
	}
	content, err := contentOf(autoscalingv1.SchemeGroupVersion.WithKind("Scale"), wire.ContentTypeProtobuf, []byte(f.last().body))
	if err != nil || !strings.HasSuffix(string(content), "\x05newer") || f.count() != 3 {
		t.Errorf("sent %q %v in %d requests", f.last().body, err, f.count())
	}
}

// The objects that were read last are kept within a bound. A newer version replaces the older one.
func TestOriginalsAreBounded(t *testing.T) {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(widgetGVK, &partWidget{})
	k := &wire.Kind{GVK: widgetGVK, Scheme: s}
	var r originals
	note := func(i, version int, more string) *partWidget {
		doc := fmt.Sprintf(`{"metadata":{"name":"w","uid":"u%d","resourceVersion":"%d"}%s}`, i, version, more)
		raw := wire.Raw{Kind: k, Encoding: wire.JSON, Bytes: []byte(doc)}
		w := &partWidget{}
		if err := raw.Decode(w); err != nil {
			t.Fatal(err)
		}
		r.note(raw, w)
		return w
	}
	found := func(w *partWidget) int {
		raw, ok := r.find(w, w.UID, w.ResourceVersion)
		if !ok {
			return -1
		}
		return len(raw.Bytes)
	}
	large := `,"x":"` + strings.Repeat("x", 100<<10) + `"`
	first := note(0, 1, large)
	if found(first) < len(large) {
		t.Error("not kept")
	}
	again := note(0, 2, "")
	if found(first) != -1 || found(again) != 2 || len(r.young) != 1 {
		t.Error("not replaced by one without unknown fields", found(again), r.size)
	}
	for i := range 100 {
		last := note(i, 3, large)
		if r.size > originalBytes || found(last) < len(large) {
			t.Fatal("not kept, or too much", r.size)
		}
	}
	if n := len(r.young) + len(r.old); n < 20 || n > 41 || found(again) != -1 {
		t.Error(n)
	}
	kept := r.size
	huge := note(1000, 1, `,"x":"`+strings.Repeat("x", originalBytes)+`"`)
	if found(huge) != -1 || r.size != kept {
		t.Error("kept what is larger than all", r.size)
	}
}

// BenchmarkUpdate measures the work of an update beside the request. It encodes the object. If some object
// of the type had unknown fields, it finds those of this object and puts them back.
func BenchmarkUpdate(b *testing.B) {
	w := &partWidget{}
	for i := range 50 {
		w.Spec.Rules = append(w.Spec.Rules, struct {
			Path string `json:"path"`
		}{fmt.Sprintf("/some/path/%d", i)})
	}
	d := testobj.Deployment("web/d")
	for i := range 3 {
		c := corev1.Container{Name: fmt.Sprint("c", i), Image: "registry.test/team/program:v1"}
		for n := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("VARIABLE_", n), Value: "some value"})
		}
		d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, c)
	}
	deploymentGVK := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	for _, tt := range []struct {
		name   string
		kind   *wire.Kind
		enc    wire.Encoding
		obj    object.Object
		before func([]byte) []byte // with an unknown field
	}{
		{"json", &wire.Kind{GVK: widgetGVK, Scheme: widgetScheme()}, wire.JSON, w, func(doc []byte) []byte {
			return append([]byte(`{"newer":1,`), doc[1:]...)
		}},
		{"protobuf", &wire.Kind{GVK: deploymentGVK, Scheme: testScheme}, wire.Protobuf, d, func(doc []byte) []byte {
			return protowire.AppendString(protowire.AppendTag(bytes.Clone(doc), 900, protowire.BytesType), "newer")
		}},
	} {
		body, ct, err := wire.Encode(tt.obj, tt.kind.GVK, tt.enc)
		if err != nil {
			b.Fatal(err)
		}
		doc, err := contentOf(tt.kind.GVK, ct, body)
		if err != nil {
			b.Fatal(err)
		}
		run := func(name string, restore bool, doc []byte) {
			read := wire.Raw{Kind: tt.kind, Encoding: tt.enc, Bytes: doc}
			b.Run(tt.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(doc)))
				for b.Loop() {
					body, _, err := wire.Encode(tt.obj, tt.kind.GVK, tt.enc)
					if err == nil && restore {
						_, err = wire.Restore(body, tt.obj, read)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("encode", false, doc)
		run("looked for", true, doc)
		run("put back", true, tt.before(doc))
	}
}
