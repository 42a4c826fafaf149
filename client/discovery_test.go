package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/discovery"
)

const (
	inV2      = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	inV2beta1 = "application/json; charset=utf-8; as=APIGroupDiscoveryList; v=v2beta1; g=apidiscovery.k8s.io"
)

// aggregate answers with aggregated groups, in the version of the content type.
func aggregate(contentType string, groups ...apidiscovery.APIGroupDiscovery) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := &typedWriter{w, contentType}
		answer(200, apidiscovery.APIGroupDiscoveryList{Items: groups})(rec, r)
	}
}

type typedWriter struct {
	http.ResponseWriter
	contentType string
}

func (w *typedWriter) WriteHeader(code int) {
	w.Header().Set("Content-Type", w.contentType)
	w.ResponseWriter.WriteHeader(code)
}

func aggregatedGroup(name string, versions ...apidiscovery.APIVersionDiscovery) apidiscovery.APIGroupDiscovery {
	return apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}, Versions: versions}
}

func aggregatedVersion(name string, resources ...metav1.APIResource) apidiscovery.APIVersionDiscovery {
	v := apidiscovery.APIVersionDiscovery{Version: name, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
	for _, r := range resources {
		scope := apidiscovery.ScopeCluster
		if r.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		v.Resources = append(v.Resources, apidiscovery.APIResourceDiscovery{
			Resource: r.Name, SingularResource: r.SingularName, Scope: scope, Verbs: r.Verbs,
			ResponseKind: &metav1.GroupVersionKind{Kind: r.Kind},
			Subresources: []apidiscovery.APISubresourceDiscovery{{Subresource: "status", ResponseKind: &metav1.GroupVersionKind{Kind: r.Kind}}},
		})
	}
	return v
}

func stale(v apidiscovery.APIVersionDiscovery) apidiscovery.APIVersionDiscovery {
	v.Freshness, v.Resources = apidiscovery.DiscoveryFreshnessStale, nil
	return v
}

// discoveryOf asks a scripted server, and counts the requests.
func discoveryOf(rt http.RoundTripper) (*mapper, *atomic.Int32) {
	n := new(atomic.Int32)
	c, err := New(&rest.Config{Host: "http://fake.test/base", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		n.Add(1)
		r = r.Clone(r.Context())
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/base")
		return rt.RoundTrip(r)
	})}, Options{QPS: 1e-9, Burst: 1, Hook: func(Done) { panic("discovery is not shown to hooks") }})
	if err != nil {
		panic(err)
	}
	return newMapper(c.link), n
}

// all reads everything.
func (m *mapper) all(ctx context.Context) (*discovery.Served, error) {
	return m.discoverNow(ctx, everything)
}

// Every form of discovery gives the same result, in one request or in several.
func TestDiscoveryFormsAgree(t *testing.T) {
	core := aggregatedGroup("", aggregatedVersion("v1", resource("pods", "Pod", true), resource("configmaps", "ConfigMap", true),
		resource("nodes", "Node", false), resource("secrets", "Secret", true)))
	apps := aggregatedGroup("apps", aggregatedVersion("v1", resource("deployments", "Deployment", true)))
	example := aggregatedGroup("example.com", aggregatedVersion("v1", resource("widgets", "Widget", true)))
	plain := newFake(t)
	plain.on("GET /api/v1", answer(200, resourceList("v1",
		resource("pods", "Pod", true), resource("configmaps", "ConfigMap", true), resource("nodes", "Node", false),
		resource("nodes/proxy", "NodeProxyOptions", false), resource("secrets", "Secret", true))))
	d, n := discoveryOf(plain)
	want, err := d.all(t.Context())
	if err != nil || n.Load() != 5 {
		t.Fatalf("%d requests, %v", n.Load(), err)
	}
	want.Groups[1].Preferred, want.Groups[2].Preferred = "", "" // empty means the first version, in both forms
	for name, tt := range map[string]struct {
		api, apis http.HandlerFunc
		requests  int32
	}{
		"v2":            {aggregate(inV2, core), aggregate(inV2, apps, example), 2},
		"v2beta1":       {aggregate(inV2beta1, core), aggregate(inV2beta1, apps, example), 2},
		"core only":     {aggregate(inV2, core), nil, 4},
		"all but core":  {nil, aggregate(inV2, apps, example), 3},
		"with a parent": {aggregate(inV2, core), aggregate(inV2, apps, withParent(example)), 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			if tt.api != nil {
				f.on("GET /api", tt.api)
			}
			if tt.apis != nil {
				f.on("GET /apis", tt.apis)
			}
			d, n := discoveryOf(f)
			got, err := d.all(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Groups {
				got.Groups[i].Preferred = ""
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if n.Load() != tt.requests {
				t.Errorf("%d requests, want %d", n.Load(), tt.requests)
			}
		})
	}
}

// withParent adds a resource that only carries a subresource.
func withParent(g apidiscovery.APIGroupDiscovery) apidiscovery.APIGroupDiscovery {
	g.Versions[0].Resources = append(g.Versions[0].Resources,
		apidiscovery.APIResourceDiscovery{Resource: "things", Subresources: g.Versions[0].Resources[0].Subresources},
		apidiscovery.APIResourceDiscovery{Resource: "others", ResponseKind: &metav1.GroupVersionKind{}})
	return g
}

func TestDiscoveryAsksForAggregated(t *testing.T) {
	f := newFake(t)
	var mu sync.Mutex
	accepts := map[string]string{}
	d, _ := discoveryOf(roundTripper(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		accepts[r.URL.Path] = r.Header.Get("Accept")
		mu.Unlock()
		return f.RoundTrip(r)
	}))
	if _, err := d.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := inV2 + ",application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
	for path, want := range map[string]string{"/api": whole, "/apis": whole, "/api/v1": "application/json", "/apis/apps/v1": "application/json"} {
		if accepts[path] != want {
			t.Errorf("%s: %s", path, accepts[path])
		}
	}
}

// A server without the core group is valid: an aggregated API server that is asked directly.
func TestDiscoveryWithoutCore(t *testing.T) {
	f := newFake(t)
	f.on("GET /api", text(404, "text/plain", "404 page not found"))
	d, _ := discoveryOf(f)
	s, err := d.all(t.Context())
	if err != nil || s.Mapping(podGVK) != nil || s.Mapping(widgetGVK) == nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// A stale group version keeps the resources of the last discovery. Without a last discovery the error says
// why nothing is known.
func TestStaleVersionsKeepTheirResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		v1, v2 := aggregatedVersion("v1", resource("widgets", "Widget", true)), aggregatedVersion("v2", resource("widgets", "Widget", true))
		f.on("GET /apis", aggregate(inV2, aggregatedGroup("example.com", v2, v1)))
		m := f.client(Options{}).mapper.(*mapper)
		plural := schema.GroupVersionResource{Group: "example.com", Resource: "widgets"}
		prefers := func(version string) {
			t.Helper()
			if got, err := m.KindFor(plural); err != nil || got.Version != version {
				t.Errorf("KindFor: %v, %v, want %s", got, err, version)
			}
		}
		prefers("v2")
		f.on("GET /apis", aggregate(inV2, aggregatedGroup("example.com", stale(v2), v1), aggregatedGroup("other.test", stale(v1))))
		_, err := m.Mapping(t.Context(), gadgetGVK)
		if !is[*NotServedError](err) || errors.Is(err, discovery.ErrStale) {
			t.Errorf("a kind of a group version that is current: %v", err)
		}
		prefers("v2")
		_, err = m.Mapping(t.Context(), schema.GroupVersionKind{Group: "other.test", Version: "v1", Kind: "Widget"})
		if !is[*NotServedError](err) || !errors.Is(err, discovery.ErrStale) {
			t.Errorf("a stale one: %v", err)
		}
		m.Reset()
		prefers("v1")
		_, err = m.Mapping(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "Widget"})
		if !errors.Is(err, discovery.ErrStale) {
			t.Errorf("a stale one of which nothing is known: %v", err)
		}
	})
}

// A group version that is removed between two requests is no failure.
func TestRemovedVersionIsNoDiscoveryFailure(t *testing.T) {
	f := newFake(t)
	f.on("GET /apis", inTurn(answer(200, groupList("apps", "gone.test")), answer(200, groupList("apps"))))
	d, _ := discoveryOf(f)
	s, err := d.all(t.Context())
	if err != nil || s.Version(schema.GroupVersion{Group: "gone.test", Version: "v1"}) != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// A list that fails affects only its own group version, whatever the failure.
func TestFailedListAffectsItsVersionOnly(t *testing.T) {
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want func(error) bool
	}{
		"down":      {text(503, "text/plain", "the backend is down"), is[*UnavailableError]},
		"forbidden": {status(403, metav1.StatusReasonForbidden, ""), is[*ForbiddenError]},
		"gone":      {text(404, "text/plain", "404 page not found"), is[*NotServedError]},
		"broken":    {text(500, "text/plain", "no"), is[*InternalError]},
		"no JSON":   {text(200, "application/json", "{"), is[*ResponseError]},
		"a page":    {text(200, "text/html", "<html>"), is[*ResponseError]},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.on("GET /apis/example.com/v1", tt.h)
			d, _ := discoveryOf(f)
			s, err := d.all(t.Context())
			if err != nil || s.Mapping(podGVK) == nil || s.Mapping(widgetGVK) != nil {
				t.Fatalf("%+v, %v", s, err)
			}
			if v := s.Version(widgetGVK.GroupVersion()); !tt.want(v.Err) || !strings.Contains(v.Err.Error(), "discover example.com/v1") {
				t.Errorf("got %v", v.Err)
			}
			if v := s.Version(podGVK.GroupVersion()); v.Err != nil {
				t.Error(v.Err)
			}
		})
	}
}

// A server that does not answer for one group delays discovery for a bounded time.
func TestDiscoveryIsBoundedInTime(t *testing.T) {
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/example.com/v1"} {
		for _, after := range []string{"", `{"kind":"`} {
			t.Run(path+after, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d, _ := discoveryOf(&dribble{next: newFake(t), path: path, first: after})
					began := time.Now()
					s, err := d.all(t.Context())
					bound, slow := discoveryTimeout, errSlowDiscovery
					if strings.HasSuffix(path, "/v1") {
						bound, slow = listTimeout, errSlowList
					}
					if took := time.Since(began); took != bound {
						t.Errorf("took %s", took)
					}
					if path == "/apis/example.com/v1" {
						err = s.Version(widgetGVK.GroupVersion()).Err
					} else if path == "/api/v1" {
						err = s.Version(podGVK.GroupVersion()).Err
					}
					if !is[*TimeoutError](err) || !errors.Is(err, slow) {
						t.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

// dribble answers one path with a byte every ten seconds, or not at all.
type dribble struct {
	next        http.RoundTripper
	path, first string
}

func (s *dribble) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != s.path {
		return s.next.RoundTrip(r)
	}
	if s.first == "" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, w := io.Pipe()
	go func() {
		io.WriteString(w, s.first)
		for {
			select {
			case <-r.Context().Done():
				w.CloseWithError(r.Context().Err())
				return
			case <-time.After(10 * time.Second):
				io.WriteString(w, "x")
			}
		}
	}()
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, nil
}

// A bounded number of lists is requested at a time. The end of ctx ends them all, and is the error.
func TestDiscoveryBoundsItsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /apis", answer(200, metav1.APIGroupList{Groups: []metav1.APIGroup{manyVersions(100)}}))
		var now, most atomic.Int32
		rt := roundTripper(func(r *http.Request) (*http.Response, error) {
			if !strings.HasPrefix(r.URL.Path, "/apis/many.test/") {
				return f.RoundTrip(r)
			}
			defer now.Add(-1)
			most.Store(max(most.Load(), now.Add(1)))
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(time.Second):
			}
			w := httptest.NewRecorder()
			answer(200, resourceList(strings.TrimPrefix(r.URL.Path, "/apis/"), resource("things", "Thing", true)))(w, r)
			return w.Result(), nil
		})
		d, _ := discoveryOf(rt)
		began := time.Now()
		ctx, cancel := contextWithCause(t)
		if _, err := d.all(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 7*time.Second || most.Load() != listsAtOnce {
			t.Errorf("%d at once, %s", most.Load(), took)
		}
		time.AfterFunc(1500*time.Millisecond, func() { cancel(errTest) })
		began = time.Now()
		if s, err := d.all(ctx); s != nil || !errors.Is(err, errTest) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", s, err)
		}
		if took := time.Since(began); took != 1500*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func manyVersions(n int) metav1.APIGroup {
	g := metav1.APIGroup{Name: "many.test"}
	for i := range n {
		v := "v" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + v, Version: v})
	}
	return g
}

func TestDiscoveryErrorsAreTyped(t *testing.T) {
	big := strings.Repeat(" ", 1<<10)
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want func(error) bool
		text string
	}{
		"credentials":       {status(401, metav1.StatusReasonUnauthorized, ""), is[*UnauthorizedError], ""},
		"forbidden":         {status(403, metav1.StatusReasonForbidden, ""), is[*ForbiddenError], ""},
		"broken":            {status(500, metav1.StatusReasonInternalError, ""), is[*InternalError], ""},
		"unavailable":       {status(503, metav1.StatusReasonServiceUnavailable, ""), is[*UnavailableError], ""},
		"a proxy's 502":     {text(502, "text/html", "<html>"), is[*UnavailableError], "<html>"},
		"too many":          {status(429, metav1.StatusReasonTooManyRequests, ""), is[*TooManyRequestsError], ""},
		"a page":            {text(200, "text/html", "<html>"), is[*ResponseError], ""},
		"protobuf":          {text(200, "application/vnd.kubernetes.protobuf", "k8s\x00"), is[*ResponseError], ""},
		"no type":           {text(200, "", "{}"), is[*ResponseError], ""},
		"a later version":   {text(200, strings.Replace(inV2, "v=v2", "v=v3", 1), `{"items":[]}`), is[*ResponseError], "has no "},
		"nothing":           {text(200, "application/json", ""), is[*ResponseError], ""},
		"a list":            {text(200, "application/json", "[]"), is[*ResponseError], ""},
		"an empty object":   {text(200, "application/json", "{}"), is[*ResponseError], "has no "},
		"a string":          {text(200, inV2, `{"items":"x"}`), is[*ResponseError], ""},
		"items of no sort":  {text(200, inV2, `{"items":[1]}`), is[*ResponseError], ""},
		"half of it":        {text(200, inV2, `{"items":[{"versions":[`), is[*ResponseError], ""},
		"an open end":       {text(200, inV2, `{"items":[]`), is[*ResponseError], ""},
		"more than it":      {text(200, inV2, `{"items":[]} {}`), is[*ResponseError], "more after"},
		"no JSON behind it": {text(200, inV2, `{"items":[]} <`), is[*ResponseError], "more after"},
		"too deep":          {text(200, inV2, strings.Repeat(`{"a":`, 20000)), is[*ResponseError], ""},
		"huge":              {text(200, inV2, `{"items":[]`+big+`}`), is[*ResponseError], "too large"},
		"a huge item":       {text(200, inV2, `{"items":["`+big+`"]}`), is[*ResponseError], "too large"},
	} {
		for _, path := range []string{"/api", "/apis"} {
			t.Run(name+path, func(t *testing.T) {
				f := newFake(t)
				f.on("GET "+path, tt.h)
				d, _ := discoveryOf(f)
				d.max = 1 << 10
				if name == "too deep" {
					d.max = maxDiscovery
				}
				s, err := d.all(t.Context())
				if s != nil || !tt.want(err) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %T %v", err, err)
				}
			})
		}
	}
}

// A document may be as large as the bound, and null where a list could be.
func TestDiscoveryAcceptsDocumentsUpToTheBound(t *testing.T) {
	for name, body := range map[string]string{
		"null":       `{"kind":"APIGroupDiscoveryList","items":null}`,
		"same twice": `{"items":[],"items":[]}`,
		"no UTF-8":   "{\"\xff\":\"\xfe\",\"items\":[]}",
		"space":      `{"items":[]}` + strings.Repeat(" ", 1<<10-12),
	} {
		f := newFake(t)
		f.on("GET /apis", text(200, inV2, body))
		d, _ := discoveryOf(f)
		d.max = 1 << 10
		if s, err := d.all(t.Context()); err != nil || len(s.Groups) != 1 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

// A discovery takes as long as the slowest of its requests, not as long as all of them: aggregated in one step,
// plain in two.
func TestDiscoveryAsksAtTheSameTime(t *testing.T) {
	for name, steps := range map[string]int{"aggregated": 1, "plain": 2} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			if name == "aggregated" {
				f.on("GET /api", aggregate(inV2, aggregatedGroup("", aggregatedVersion("v1", resource("pods", "Pod", true)))))
				f.on("GET /apis", aggregate(inV2, aggregatedGroup("example.com", aggregatedVersion("v1", resource("widgets", "Widget", true)))))
			}
			d, _ := discoveryOf(roundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return f.RoundTrip(r)
			}))
			began := time.Now()
			if _, err := d.all(t.Context()); err != nil {
				t.Fatal(err)
			}
			if took, want := time.Since(began), time.Duration(steps)*time.Second; took != want {
				t.Errorf("%s: took %v with a second for each request, want %v", name, took, want)
			}
		})
	}
}

// One of the two documents is enough for an error. The other request does not delay it.
func TestDiscoveryFailsWithoutTheOtherDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /api", status(403, metav1.StatusReasonForbidden, ""))
		f.on("GET /apis", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		d, _ := discoveryOf(f)
		began := time.Now()
		if _, err := d.all(t.Context()); !is[*ForbiddenError](err) || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// Discovery retries when the server asks for that.
func TestDiscoveryRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /apis", inTurn(status(429, metav1.StatusReasonTooManyRequests, "2"), status(503, metav1.StatusReasonServiceUnavailable, "1"), f.routes["GET /apis"]))
		d, n := discoveryOf(f)
		if _, err := d.all(t.Context()); err != nil || n.Load() != 7 {
			t.Errorf("%d requests, %v", n.Load(), err)
		}
		f.on("GET /apis", status(429, metav1.StatusReasonTooManyRequests, "60"))
		_, err := d.all(t.Context())
		if e, ok := asType[*TooManyRequestsError](err); !ok || e.RetryAfter != time.Minute {
			t.Errorf("to come back later than it lasts: %v", err)
		}
	})
}

// A connection that breaks within a document is another error than a malformed document.
func TestBrokenDiscoveryIsUnavailable(t *testing.T) {
	f := newFake(t)
	d, _ := discoveryOf(roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := f.RoundTrip(r)
		if r.URL.Path == "/apis" {
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"groups":[`), iotest.ErrReader(errTest)))
		}
		return resp, err
	}))
	if _, err := d.all(t.Context()); !is[*UnavailableError](err) || is[*ResponseError](err) || !errors.Is(err, errTest) {
		t.Errorf("got %T %v", err, err)
	}
}
