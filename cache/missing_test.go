package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/store"
)

// apiServer answers discovery, lists and watches of ConfigMaps and of widgets.example.com. All
// versions of the latter have the same objects. Its address is http://api.test. A fault may stand
// in front of it.
type apiServer struct {
	mu       sync.Mutex
	fault    func(r *http.Request) *http.Response // nil: the request is passed on
	versions []string                             // of the widgets; empty: the group is not served
	stale    bool                                 // discovery reports the group as stale
	absent   bool                                 // neither discovery nor lists have ConfigMaps and widgets
	crd      http.HandlerFunc                     // answers for the definition of the widgets; nil: it is there
	requests []string
	bodies   []io.Closer // of watches
}

func (a *apiServer) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	for _, b := range a.bodies {
		b.Close()
	}
	a.bodies = nil
}

func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r.URL.Path)
	if a.fault != nil {
		if resp := a.fault(r); resp != nil {
			return resp, nil
		}
	}
	if body := a.document(r.URL.Path); body != "" {
		return response(200, "application/json", body), nil
	}
	if strings.HasPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/") {
		w := httptest.NewRecorder()
		if a.crd != nil {
			a.crd(w, r)
		} else {
			definition("first")(w, r)
		}
		return w.Result(), nil
	}
	kind, resource := "", ""
	for _, v := range a.served() {
		if strings.HasPrefix(r.URL.Path, "/apis/example.com/"+v+"/") {
			kind, resource = `"apiVersion":"example.com/`+v+`","kind":"Widget`, "widget"
		}
	}
	if r.URL.Path == "/api/v1/configmaps" && !a.absent {
		kind, resource = `"apiVersion":"v1","kind":"ConfigMap`, "cm"
	}
	switch {
	case kind == "":
		return response(404, "text/plain", "404 page not found"), nil
	case r.URL.Query().Get("sendInitialEvents") != "":
		return response(400, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":400,"reason":"BadRequest","message":"no"}`), nil
	case r.URL.Query().Get("watch") != "":
		pr, pw := io.Pipe()
		context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
		a.bodies = append(a.bodies, pw)
		resp := response(200, "application/json", "")
		resp.Body = pr
		return resp, nil
	}
	var items []string
	for i := range 3 {
		items = append(items, fmt.Sprintf(`{%s","metadata":{"namespace":"ns","name":"%s-%d","uid":"u%d","resourceVersion":"%d"}}`, kind, resource, i, i, i+1))
	}
	return response(200, "application/json", fmt.Sprintf(`{%sList","metadata":{"resourceVersion":"10"},"items":[%s]}`, kind, strings.Join(items, ","))), nil
}

func (a *apiServer) served() []string {
	if a.absent {
		return nil
	}
	return a.versions
}

// document returns aggregated discovery.
func (a *apiServer) document(path string) string {
	version := func(v, resources string) string {
		fresh := "Current"
		if a.stale && resources == "widgets" {
			return `{"version":"` + v + `","freshness":"Stale"}`
		}
		kind := map[string]string{"widgets": "Widget", "configmaps": "ConfigMap"}[resources]
		more := ""
		if kind == "ConfigMap" && a.absent {
			resources, kind = "pods", "Pod"
		} else if kind == "ConfigMap" {
			more = `{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod","verbs":["list"]},`
		}
		return fmt.Sprintf(`{"version":%q,"freshness":%q,"resources":[%s{"resource":%q,"responseKind":{"group":"","version":%q,"kind":%q},"scope":"Namespaced","singularResource":"x","verbs":["list"]}]}`,
			v, fresh, more, resources, v, kind)
	}
	group := func(name string, versions ...string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"versions":[%s]}`, name, strings.Join(versions, ","))
	}
	list := func(groups string) string {
		return `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[` + groups + `]}`
	}
	switch path {
	case "/api":
		return list(group("", version("v1", "configmaps")))
	case "/apis":
		var versions []string
		for _, v := range a.served() {
			versions = append(versions, version(v, "widgets"))
		}
		if len(versions) == 0 {
			return list("")
		}
		return list(group("example.com", versions...))
	}
	return ""
}

func response(code int, contentType, body string) *http.Response {
	if strings.Contains(body, "APIGroupDiscoveryList") {
		contentType += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	}
	return &http.Response{
		StatusCode: code, Status: fmt.Sprintf("%d %s", code, http.StatusText(code)), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(bytes.NewBufferString(body)),
	}
}

var (
	widgetV1     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	configMapGVK = kind("ConfigMap")
)

// watched is a synced cache of one kind of an apiServer, and the deletions that it reported.
type watched struct {
	t      *testing.T
	server *apiServer
	cache  *cache.Cache
	handle *cache.Handle
	gvk    schema.GroupVersionKind
	live   *client.Live
	stop   func() error

	mu      sync.Mutex
	deletes int
}

func watchKind(t *testing.T, server *apiServer, gvk schema.GroupVersionKind, o cache.Options) *watched {
	t.Helper()
	w := openKind(t, server, gvk, o)
	if err := w.cache.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func openKind(t *testing.T, server *apiServer, gvk schema.GroupVersionKind, o cache.Options) *watched {
	t.Helper()
	live, err := client.New(&rest.Config{Host: "http://api.test", Transport: server}, client.Options{Scheme: types})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := cache.New(cache.Connect(live), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, server: server, cache: c, gvk: gvk, live: live}
	proto := &unstructured.Unstructured{}
	proto.SetGroupVersionKind(gvk)
	if w.handle, err = c.Open(t.Context(), proto, client.Selection{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.handle.Subscribe("test", func(c store.Change) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.New == nil {
			w.deletes++
		}
	}); err != nil {
		t.Fatal(err)
	}
	w.stop = start(c)
	return w
}

func (w *watched) deleted() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deletes
}

// read gets one object and lists all, and returns the results.
func (w *watched) read(name string, opts ...client.ListOption) (get error, listed int, list error) {
	_, get = client.Get[unstructured.Unstructured](w.t.Context(), w.cache, object.Key{Namespace: "ns", Name: name}, client.OfKind(w.gvk))
	for _, err := range client.List[unstructured.Unstructured](w.t.Context(), w.cache, append(opts, client.OfKind(w.gvk))...) {
		if err != nil {
			return get, listed, err
		}
		listed++
	}
	return get, listed, nil
}

// neverGone checks for some minutes that the cache reports neither absence nor a deletion.
func (w *watched) neverGone(name string) {
	w.t.Helper()
	for range 30 {
		time.Sleep(10 * time.Second)
		get, listed, list := w.read(name)
		if apierrors.IsNotFound(get) || list == nil && listed != 3 || w.deleted() != 0 {
			w.t.Fatalf("Get: %v; List: %d objects, %v; %d deletes were told", get, listed, list, w.deleted())
		}
	}
}

func page(code int, contentType, body string) func(*http.Request) *http.Response {
	return func(*http.Request) *http.Response { return response(code, contentType, body) }
}

const notFoundStatus = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`

// only answers for paths that contain a or b.
func only(a, b string, f func(*http.Request) *http.Response) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, a) || strings.Contains(r.URL.Path, b) {
			return f(r)
		}
		return nil
	}
}

// No 404 removes a kind's objects from a cache. A page of a load balancer cannot, in
// any form, for all paths or for one. Nor can the end of their version.
func TestA404IsNoDelete(t *testing.T) {
	html := page(404, "text/html", "<html><h1>404 Not Found</h1><hr>nginx</html>")
	status := page(404, "application/json", notFoundStatus)
	for name, fault := range map[string]func(*http.Request) *http.Response{
		"a page everywhere":            html,
		"a text everywhere":            page(404, "text/plain", "default backend - 404"),
		"JSON everywhere":              page(404, "application/json", `{"error":"no such route"}`),
		"a Status everywhere":          status,
		"a page for one path":          only("/configmaps", "/configmaps", html),
		"a Status for one path":        only("/configmaps", "/configmaps", status),
		"405 for one path":             only("/configmaps", "/configmaps", page(405, "text/plain", "method not allowed")),
		"a page, discovery forbidden":  func(r *http.Request) *http.Response { return forbidDiscovery(r, html) },
		"a page, discovery without us": func(r *http.Request) *http.Response { return otherDiscovery(r, html) },
		"a page with 200 everywhere":   page(200, "text/html", "<html>we will be back soon</html>"),
		"an empty discovery":           func(r *http.Request) *http.Response { return emptyDiscovery(r, status) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &apiServer{}
				w := watchKind(t, s, configMapGVK, cache.Options{})
				defer w.stop()
				s.change(func() { s.fault = fault })
				w.neverGone("cm-1")
				s.change(func() { s.fault = nil })
				time.Sleep(2 * time.Minute)
				if get, listed, list := w.read("cm-1"); get != nil || list != nil || listed != 3 {
					t.Errorf("once it is served again: %v; %d, %v", get, listed, list)
				}
			})
		})
	}
	for name, change := range map[string]func(*apiServer){
		"another version only": func(s *apiServer) { s.versions = []string{"v2"} },
		"a stale group":        func(s *apiServer) { s.stale, s.fault = true, only("/example.com/", "/example.com/", html) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &apiServer{versions: []string{"v1", "v2"}}
				w := watchKind(t, s, widgetV1, cache.Options{})
				defer w.stop()
				s.change(func() { change(s) })
				w.neverGone("widget-1")
			})
		})
	}
}

func isDiscovery(r *http.Request) bool { return r.URL.Path == "/api" || r.URL.Path == "/apis" }

func forbidDiscovery(r *http.Request, then func(*http.Request) *http.Response) *http.Response {
	if isDiscovery(r) {
		return response(403, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"no","code":403}`)
	}
	return then(r)
}

// otherDiscovery answers as an API server without core/v1, such as an aggregated one.
func otherDiscovery(r *http.Request, then func(*http.Request) *http.Response) *http.Response {
	switch r.URL.Path {
	case "/api":
		return response(404, "text/plain", "404 page not found")
	case "/apis":
		return response(200, "application/json", `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	}
	return then(r)
}

func emptyDiscovery(r *http.Request, then func(*http.Request) *http.Response) *http.Response {
	if isDiscovery(r) {
		return response(200, "application/json", `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}`)
	}
	return then(r)
}

// A kind whose definition is gone is gone, too: its deletions are reported. When it comes back, it is
// watched again.
func TestAKindThatIsGoneIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &apiServer{versions: []string{"v1"}}
		w := watchKind(t, s, widgetV1, cache.Options{})
		defer w.stop()
		time.Sleep(time.Second)
		s.change(func() { s.versions, s.crd, s.requests = nil, missing(crdName), nil })
		time.Sleep(2 * time.Minute)
		get, listed, list := w.read("widget-1")
		if !apierrors.IsNotFound(get) || listed != 0 || list != nil || w.deleted() != 3 {
			t.Errorf("Get: %v; List: %d, %v; %d deletes", get, listed, list, w.deleted())
		}
		s.mu.Lock()
		s.requests = nil
		s.mu.Unlock()
		time.Sleep(10 * time.Minute)
		s.mu.Lock()
		if n := len(s.requests); n > 3*20+3 {
			t.Errorf("%d requests in 10 min for a kind that is gone", n)
		}
		s.mu.Unlock()
		s.change(func() { s.versions, s.crd = []string{"v1"}, nil })
		time.Sleep(time.Minute)
		if get, listed, list := w.read("widget-1"); get != nil || listed != 3 || list != nil {
			t.Errorf("it came back: Get: %v; List: %d, %v", get, listed, list)
		}
	})
}
