package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
)

var (
	podGVK    = corev1.SchemeGroupVersion.WithKind("Pod")
	widgetGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
)

// fake is a scripted API server: discovery, and the routes of a test.
type fake struct {
	t *testing.T

	mu     sync.Mutex
	routes map[string]http.HandlerFunc // "GET /path"
	asked  []asked
}

// asked is one request to the fake, except discovery.
type asked struct {
	method, path string
	query        url.Values
	header       http.Header
	body         string
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, routes: map[string]http.HandlerFunc{}}
	f.on("GET /api", answer(200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}))
	f.on("GET /apis", answer(200, groupList("apps", "example.com")))
	f.on("GET /api/v1", answer(200, resourceList("v1",
		resource("pods", "Pod", true), resource("configmaps", "ConfigMap", true), resource("nodes", "Node", false), resource("secrets", "Secret", true))))
	f.on("GET /apis/apps/v1", answer(200, resourceList("apps/v1", resource("deployments", "Deployment", true))))
	f.on("GET /apis/example.com/v1", answer(200, resourceList("example.com/v1", resource("widgets", "Widget", true))))
	return f
}

func groupList(groups ...string) metav1.APIGroupList {
	l := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, g := range groups {
		v := metav1.GroupVersionForDiscovery{GroupVersion: g + "/v1", Version: "v1"}
		l.Groups = append(l.Groups, metav1.APIGroup{Name: g, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return l
}

func resourceList(gv string, rs ...metav1.APIResource) metav1.APIResourceList {
	return metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv, APIResources: rs,
	}
}

func resource(name, kind string, namespaced bool) metav1.APIResource {
	return metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list", "watch"}}
}

func (f *fake) on(route string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.routes[route] = h
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	route := r.Method + " " + r.URL.Path
	f.mu.Lock()
	h := f.routes[route]
	if !isDiscovery(r.URL.Path) {
		f.asked = append(f.asked, asked{r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), string(body)})
	}
	f.mu.Unlock()
	if h == nil {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	h(w, r)
}

func isDiscovery(path string) bool {
	return path == "/api" || path == "/apis" || path == "/api/v1" || strings.Count(path, "/") == 3 && strings.HasPrefix(path, "/apis/")
}

// count returns the number of requests, without discovery.
func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// last returns the last request, without discovery.
func (f *fake) last() asked {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		f.t.Fatal("no request came")
	}
	return f.asked[len(f.asked)-1]
}

// RoundTrip lets a client talk to the fake without a network, in a synctest bubble too.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	f.ServeHTTP(rec, r)
	return rec.Result(), nil
}

// client talks to the fake without a network.
func (f *fake) client(o Options) *Live { return f.over(f, o) }

// over is a client on another transport.
func (f *fake) over(rt http.RoundTripper, o Options) *Live {
	f.t.Helper()
	c, err := New(&rest.Config{Host: "http://fake.test", Transport: rt}, o)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// serve is a client on a real connection to the fake.
func (f *fake) serve(o Options) *Live {
	f.t.Helper()
	srv := httptest.NewServer(f)
	f.t.Cleanup(srv.Close)
	c, err := New(&rest.Config{Host: srv.URL}, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(c.Close)
	return c
}

// answer writes v as JSON.
func answer(code int, v any) http.HandlerFunc {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text(code, wire.ContentTypeJSON, string(data))
}

func text(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// object answers with a typed object in the first form that the request accepts.
func reply(o object.Object, gvk schema.GroupVersionKind) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		enc := wire.JSON
		if strings.HasPrefix(r.Header.Get("Accept"), wire.ContentTypeProtobuf) {
			enc = wire.Protobuf
		}
		body, ct, err := wire.Encode(o, gvk, enc)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", ct)
		w.Write(body)
	}
}

// status answers with a Status and, if after is not empty, a Retry-After header.
func status(code int, reason metav1.StatusReason, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		answer(code, failureStatus(code, reason))(w, r)
	}
}

// absent answers as a server that does not have the object.
func absent(group, resource, name string) http.HandlerFunc {
	s := failureStatus(404, metav1.StatusReasonNotFound)
	s.Details = &metav1.StatusDetails{Name: name, Group: group, Kind: resource}
	return answer(404, s)
}

func failureStatus(code int, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "told by the server",
		Details: &metav1.StatusDetails{Name: "x", Kind: "pods"},
	}
}

// inTurn answers with one handler after the other; the last one stays.
func inTurn(hs ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := hs[0]
		if len(hs) > 1 {
			hs = hs[1:]
		}
		mu.Unlock()
		h(w, r)
	}
}

func pod(name string) *corev1.Pod {
	return testobj.Pod("web/"+name, testobj.UID("uid-1"), testobj.Version("7"))
}

// podList is a page of Pods in protobuf or JSON.
func podList(version, cont string, names ...string) http.HandlerFunc {
	l := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: cont}}
	for _, n := range names {
		l.Items = append(l.Items, *pod(n))
	}
	if cont != "" {
		l.RemainingItemCount = new(int64(3))
	}
	return func(w http.ResponseWriter, r *http.Request) {
		enc := wire.JSON
		if strings.HasPrefix(r.Header.Get("Accept"), wire.ContentTypeProtobuf) {
			enc = wire.Protobuf
		}
		body, ct, err := wire.Encode(&l, corev1.SchemeGroupVersion.WithKind("PodList"), enc)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", ct)
		io.Copy(w, bytes.NewReader(body))
	}
}

func key(name string) object.Key { return object.Key{Namespace: "web", Name: name} }

// names collects the names of a list and its errors.
func names[P object.Object](t *testing.T, seq func(func(P, error) bool)) (names []string, errs []error) {
	t.Helper()
	for o, err := range seq {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		names = append(names, o.GetName())
	}
	return names, errs
}

func equal[S ~[]E, E comparable](t *testing.T, what string, got, want S) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, fmt.Sprint(got), fmt.Sprint(want))
	}
}

var testScheme = scheme.New()

var errTest = errors.New("the test says so")

func contextWithCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

type writerFunc func(Op) (object.Object, error)

func (f writerFunc) Write(_ context.Context, op Op) (object.Object, error) { return f(op) }

// discardLog hides the expected errors of TLS handshakes.
var discardLog = log.New(io.Discard, "", 0)
