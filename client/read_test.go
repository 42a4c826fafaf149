package client

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

const widgetJSON = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"web","uid":"u"},"spec":{"n":9007199254740993}}`

func TestGetForms(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	f.on("GET /api/v1/namespaces/web/pods/x", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			m := &metav1.PartialObjectMetadata{ObjectMeta: pod("x").ObjectMeta}
			reply(m, metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))(w, r)
			return
		}
		reply(pod("x"), podGVK)(w, r)
	})
	f.on("GET /apis/example.com/v1/namespaces/web/widgets/w", text(200, "application/json", widgetJSON))

	p, err := Get[corev1.Pod](t.Context(), c, key("x"))
	if err != nil || p.Name != "x" || p.Kind != "Pod" {
		t.Errorf("typed: %v, %v", p, err)
	}
	if a := f.last().header.Get("Accept"); a != wire.AcceptProtobuf {
		t.Errorf("typed: Accept %q", a)
	}
	u, err := Get[unstructured.Unstructured](t.Context(), c, key("x"), OfKind(podGVK))
	if err != nil || u.GetName() != "x" || u.GetKind() != "Pod" {
		t.Errorf("unstructured: %v, %v", u, err)
	}
	if a := f.last().header.Get("Accept"); a != "application/json" {
		t.Errorf("unstructured: Accept %q", a)
	}
	m, err := Get[metav1.PartialObjectMetadata](t.Context(), c, key("x"), OfKind(podGVK))
	if err != nil || m.Name != "x" || m.GroupVersionKind() != podGVK {
		t.Errorf("metadata: %v, %v", m, err)
	}
	w, err := Get[unstructured.Unstructured](t.Context(), c, key("w"), OfKind(widgetGVK))
	if err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(w.Object, "spec", "n"); n != 9007199254740993 {
		t.Errorf("a large number came as %d", n)
	}
}

func TestKindErrors(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	_, err := Get[unstructured.Unstructured](t.Context(), c, key("x"))
	if !is[*object.UnknownKindError](err) {
		t.Errorf("no kind: got %v", err)
	}
	_, err = Get[corev1.Pod](t.Context(), c, key("x"), OfKind(widgetGVK))
	if !is[*object.UnknownKindError](err) {
		t.Errorf("kind of another type: got %v", err)
	}
	_, err = Get[unstructured.Unstructured](t.Context(), c, key("x"), OfKind(schema.GroupVersionKind{Group: "nowhere.io", Version: "v1", Kind: "Thing"}))
	if e, ok := asType[*NotServedError](err); !ok || e.GVK.Kind != "Thing" || e.Verb != "get" {
		t.Errorf("kind that is not served: got %v", err)
	}
	if err := c.Get(t.Context(), key("x"), nil, GetOptions{}); !is[*object.UnknownKindError](err) {
		t.Errorf("nil: got %v", err)
	}
	if f.count() != 0 {
		t.Errorf("%d requests were sent", f.count())
	}
}

func TestInvalidKeysAreNotSent(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{})
	for name, k := range map[string]object.Key{
		"no name": {Namespace: "web"}, "no namespace": {Name: "x"}, "bad UTF-8": key("a\xff"), "bad namespace": {Namespace: "\xff", Name: "x"},
		"slash": key("a/b"), "dots": key(".."), "percent": key("a%2fb"),
	} {
		_, err := Get[corev1.Pod](t.Context(), c, k)
		if e, ok := asType[*ArgumentError](err); !ok || e.Kind != "Pod" || e.Key != k {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.count() != 0 {
		t.Errorf("%d requests were sent", f.count())
	}
	f.on("GET /api/v1/nodes/n", reply(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, corev1.SchemeGroupVersion.WithKind("Node")))
	if _, err := Get[corev1.Node](t.Context(), c, key("n")); err != nil {
		t.Errorf("the namespace of a cluster-scoped kind is not ignored: %v", err)
	}
}

// After the server has refused protobuf the client does not ask for it again.
func TestProtobufFallback(t *testing.T) {
	for code, reason := range map[int]metav1.StatusReason{
		http.StatusNotAcceptable: metav1.StatusReasonNotAcceptable, http.StatusUnsupportedMediaType: metav1.StatusReasonUnsupportedMediaType,
	} {
		f := newFake(t)
		only := func(next http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.Header.Get("Accept")+r.Header.Get("Content-Type"), "protobuf") {
					status(code, reason, "")(w, r)
					return
				}
				next(w, r)
			}
		}
		f.on("GET /api/v1/namespaces/web/pods/x", only(reply(pod("x"), podGVK)))
		f.on("POST /api/v1/namespaces/web/pods", only(reply(pod("x"), podGVK)))
		c := f.client(Options{})
		if _, err := Create(t.Context(), c, pod("x")); err != nil || f.count() != 2 {
			t.Errorf("%d: create, %d requests: %v", code, f.count(), err)
		}
		if _, err := Get[corev1.Pod](t.Context(), c, key("x")); err != nil || f.count() != 3 {
			t.Errorf("%d: get, %d requests: %v", code, f.count(), err)
		}
	}
}

func TestGetSendsItsOptions(t *testing.T) {
	f := newFake(t)
	c := f.client(Options{UserAgent: "me/1"})
	f.on("GET /api/v1/namespaces/web/pods/x/status", reply(pod("x"), podGVK))
	if _, err := Get[corev1.Pod](t.Context(), c, key("x"), AtVersion("0"), Sub("status")); err != nil {
		t.Fatal(err)
	}
	if got := f.last(); got.query.Get("resourceVersion") != "0" || got.header.Get("User-Agent") != "me/1" {
		t.Errorf("sent %v", got)
	}
}
