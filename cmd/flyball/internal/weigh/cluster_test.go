package weigh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/test/planetest"
	"github.com/flyball-io/flyball/test/servertest"
)

const mapsOfOne = pageSize + 150 // two pages

// fill creates a namespace with ConfigMaps and an Event.
func fill(t *testing.T, c *client.Live, namespace string) {
	t.Helper()
	for i := range mapsOfOne {
		o := configMap(i)
		o.Namespace, o.UID, o.ResourceVersion, o.ManagedFields = namespace, "", "", nil
		if _, err := client.Create(t.Context(), c, o); err != nil {
			t.Fatal(err)
		}
	}
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "happened"}, InvolvedObject: corev1.ObjectReference{Namespace: namespace, Name: "map"}, Reason: "Tested"}
	if _, err := client.Create(t.Context(), c, e); err != nil {
		t.Fatal(err)
	}
}

// find returns the figures of a kind.
func find(t *testing.T, r *Report, resource string) Kind {
	t.Helper()
	i := slices.IndexFunc(r.Kinds, func(k Kind) bool { return k.Resource == resource })
	if i < 0 {
		t.Fatalf("no %s in %+v", resource, r)
	}
	return r.Kinds[i]
}

// The packed figures of a cluster are what a cache then holds. No kind is weighed twice. The cluster is real: the
// server in memory has no APIServices, a kind of Kubernetes without a Go type here.
func TestCluster(t *testing.T) {
	p := planetest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	namespace := planetest.Namespace(t, p)
	fill(t, c, namespace)
	s := scheme.New()
	var pages []Progress
	r, err := Cluster(t.Context(), p.RESTConfig(), s, Options{
		Progress: func(p Progress) { pages = append(pages, p) },
		Problem:  func(err error) { t.Log(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(pages, func(p Progress) bool { return p.Kind == "configmaps" && p.Objects == pageSize }); i < 0 || pages[i].Remaining < mapsOfOne-pageSize || pages[i].Of < 20 {
		t.Errorf("%v", pages)
	}
	if of := find(t, r, "events"); of.Objects == 0 {
		t.Errorf("%+v", of)
	}
	if !slices.ContainsFunc(r.LeftOut, func(l LeftOut) bool {
		return l.Resource == "events.events.k8s.io" && strings.Contains(l.Reason, "those of events")
	}) {
		t.Errorf("%+v", r.LeftOut)
	}
	if of := find(t, r, "apiservices.apiregistration.k8s.io"); of.Form != "unstructured" || of.Structs < of.Wire {
		t.Errorf("%+v", of)
	}
	for _, keep := range []bool{false, true} {
		held := cached(t, c, keep, &corev1.ConfigMap{}, &rbacv1.ClusterRole{}, &corev1.Namespace{})
		for kind, resource := range map[string]string{"ConfigMap": "configmaps", "ClusterRole": "clusterroles.rbac.authorization.k8s.io", "Namespace": "namespaces"} {
			k := find(t, r, resource)
			if keep {
				k.Packed = k.PackedWhole
			}
			near(t, resource+", packed", k.Packed, held[kind].held, 0.05)
			wire := k.Wire - k.ManagedFields
			if keep {
				wire = k.Wire
			}
			if k.Objects != held[kind].objects || wire != held[kind].wire {
				t.Errorf("%s: %+v, the cache holds %+v", resource, k, held[kind])
			}
		}
	}
}

type holding struct {
	objects    int
	held, wire int64
}

// cached returns what a cache holds of some kinds, by kind.
func cached(t *testing.T, c *client.Live, keep bool, protos ...object.Object) map[string]holding {
	t.Helper()
	all, err := cache.New(cache.Connect(c), cache.Options{KeepManagedFields: keep, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range protos {
		if _, err := all.Open(t.Context(), proto, client.Selection{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- all.Run(ctx) }()
	if err := all.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	held := map[string]holding{}
	for _, w := range all.Watches() {
		st := w.Figures.Store
		held[w.Kind.GVK.Kind] = holding{st.Objects, st.Held - st.Dropped, st.Bytes}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return held
}

// A user who may list little gets the figures of that. What is forbidden is named.
func TestForbidden(t *testing.T) {
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	namespace := servertest.Namespace(t, p)
	fill(t, c, namespace)
	user := "weigher-of-" + namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps", "nodes"}, Verbs: []string{"list"}}}}
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	cfg := rest.CopyConfig(p.RESTConfig())
	cfg.Impersonate.UserName, cfg.Impersonate.Groups = user, []string{"system:authenticated"}
	// Nothing at all is allowed.
	_, err := Cluster(t.Context(), cfg, scheme.New(), Options{})
	if err == nil || !strings.Contains(err.Error(), "has nothing to weigh") || !strings.Contains(err.Error(), "forbidden") || !strings.Contains(err.Error(), user) {
		t.Errorf("%v", err)
	}
	if _, err := client.Create(t.Context(), c, role); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(t.Context(), c, bound); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Delete(context.Background(), c, role), client.Delete(context.Background(), c, bound)); err != nil {
			t.Error(err)
		}
	})
	program, err := ParseProgram([]byte(`
kind: ClusterRole
rules: [{apiGroups: ["", example.com], resources: [configmaps, secrets, gadgets], verbs: [list, watch]}]
`), "")
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	var r *Report
	for { // the server learns of a new role a moment later
		problems = nil
		r, err = Cluster(t.Context(), cfg, scheme.New(), Options{
			Selection: Selection{Program: program, Namespace: namespace},
			Problem:   func(err error) { problems = append(problems, err.Error()) },
		})
		if err == nil || t.Context().Err() != nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if k := find(t, r, "configmaps"); len(r.Kinds) != 1 || k.Objects < mapsOfOne || k.Objects > mapsOfOne+1 { // kube-root-ca.crt may be there
		t.Errorf("%+v", r)
	}
	text := strings.Join(problems, "\n")
	if len(r.LeftOut) != 2 || !strings.Contains(text, "secrets is not weighed: ") || !strings.Contains(text, "forbidden") ||
		!strings.Contains(text, "gadgets or gadgets.example.com is not weighed: the cluster has no such kind") {
		t.Errorf("%+v\n%s", r.LeftOut, text)
	}
	if _, err := Cluster(t.Context(), cfg, scheme.New(), Options{Selection: Selection{Kinds: []string{"gadgets"}}}); err == nil || !strings.Contains(err.Error(), `has no kind "gadgets"`) {
		t.Errorf("%v", err)
	}
}

// faulty answers some requests itself.
type faulty struct {
	http.RoundTripper
	answer func(*http.Request) (*http.Response, error)
}

// WrappedRoundTripper lets client-go find the transport that it can close.
func (f faulty) WrappedRoundTripper() http.RoundTripper { return f.RoundTripper }

func (f faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	if resp, err := f.answer(r); resp != nil || err != nil {
		return resp, err
	}
	return f.RoundTripper.RoundTrip(r)
}

// status is an answer with a Status.
func status(r *http.Request, code int, reason metav1.StatusReason, header ...string) (*http.Response, error) {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":"by the test","code":%d}`, reason, code)
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h, Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: r}, nil
}

// The list of a kind begins once more if the server has forgotten the pages, waits if the server is
// busy, and is left out if the server cannot answer it. A server that is gone ends the weighing.
func TestFaults(t *testing.T) {
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	namespace := servertest.Namespace(t, p)
	fill(t, c, namespace)
	reset := errors.New("connection reset by the test")
	for _, f := range []struct {
		name   string
		answer func(r *http.Request, n int32) (*http.Response, error) // n counts the requests for ConfigMaps
		left   string                                                 // why ConfigMaps are left out
		err    string
	}{
		{"expired once", func(r *http.Request, n int32) (*http.Response, error) {
			if n == 2 {
				return status(r, http.StatusGone, metav1.StatusReasonExpired)
			}
			return nil, nil
		}, "", ""},
		{"expired always", func(r *http.Request, _ int32) (*http.Response, error) {
			if r.URL.Query().Has("continue") {
				return status(r, http.StatusGone, metav1.StatusReasonExpired)
			}
			return nil, nil
		}, "by the test", ""},
		{"busy", func(r *http.Request, n int32) (*http.Response, error) {
			if n == 1 {
				return status(r, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "Retry-After", "1")
			}
			return nil, nil
		}, "", ""},
		{"cut once", func(_ *http.Request, n int32) (*http.Response, error) {
			if n == 2 {
				return nil, reset
			}
			return nil, nil
		}, "", ""},
		{"unavailable", func(r *http.Request, _ int32) (*http.Response, error) {
			return status(r, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		}, "by the test", ""},
		{"gone", func(_ *http.Request, n int32) (*http.Response, error) { return nil, reset }, "", "connection reset by the test"},
	} {
		t.Run(f.name, func(t *testing.T) {
			var n atomic.Int32
			cfg := rest.CopyConfig(p.RESTConfig())
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
				return faulty{rt, func(r *http.Request) (*http.Response, error) {
					if f.err != "" && n.Load() > 0 && strings.HasSuffix(r.URL.Path, "/version") {
						return nil, reset
					}
					if !strings.HasSuffix(r.URL.Path, "/configmaps") {
						return nil, nil
					}
					return f.answer(r, n.Add(1))
				}}
			})
			r, err := Cluster(t.Context(), cfg, scheme.New(), Options{Selection: Selection{Kinds: []string{"configmaps", "namespaces"}}})
			if f.err != "" {
				if r != nil || err == nil || !strings.Contains(err.Error(), f.err) {
					t.Errorf("%+v, %v", r, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if f.left == "" {
				if k := find(t, r, "configmaps"); len(r.LeftOut) > 0 || k.Objects < mapsOfOne || k.Wire < int64(k.Objects)*400 || k.Wire > int64(k.Objects)*1000 {
					t.Errorf("%+v", r)
				}
				return
			}
			if len(r.Kinds) != 1 || len(r.LeftOut) != 1 || !strings.Contains(r.LeftOut[0].Reason, f.left) {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		asked := errors.New("asked to stop")
		r, err := Cluster(ctx, p.RESTConfig(), scheme.New(), Options{Progress: func(p Progress) {
			if p.Objects == pageSize {
				cancel(asked)
			}
		}})
		if r != nil || err != asked {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestUnreachable(t *testing.T) {
	_, err := Cluster(t.Context(), &rest.Config{Host: "https://127.0.0.1:1"}, scheme.New(), Options{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}

// A kind is weighed in the version that has a Go type, if there is one, else in the preferred one.
func TestVersions(t *testing.T) {
	verbs := metav1.Verbs{"get", "list", "watch"}
	groups := []*metav1.APIGroup{
		{Name: "apps", PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v2"}},
		{Name: "example.com", PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}},
	}
	lists := []*metav1.APIResourceList{
		{GroupVersion: "apps/v2", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Verbs: verbs}, {Name: "deployments/status", Kind: "Deployment", Verbs: verbs}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Verbs: verbs, ShortNames: []string{"deploy"}, Namespaced: true}}},
		{GroupVersion: "example.com/v2", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Verbs: verbs}, {Name: "reviews", Kind: "Review", Verbs: metav1.Verbs{"create"}}, {Name: "reports", Kind: "Report", Verbs: metav1.Verbs{"get", "list"}}}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Verbs: verbs}}},
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod", Verbs: verbs, Namespaced: true}}},
		{GroupVersion: "a/b/c", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Verbs: verbs}}},
	}
	all := versioned(groups, lists, scheme.New())
	if len(all) != 3 || all[0].GVR.String() != "/v1, Resource=pods" || all[1].GVR.String() != "apps/v1, Resource=deployments" || !all[1].Namespaced || !all[1].is("deploy") || all[2].GVR.String() != "example.com/v1, Resource=widgets" {
		t.Errorf("%+v", all)
	}
}

// Discovery has its lists in a random order. The groups have the server's.
func TestKindsOfOneNameAreInTheOrderOfTheServer(t *testing.T) {
	verbs := metav1.Verbs{"list", "watch"}
	var groups []*metav1.APIGroup
	var lists []*metav1.APIResourceList
	for _, name := range []string{"z.example.com", "b.example.com", "m.example.com"} {
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		groups = append(groups, &metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		lists = append(lists, &metav1.APIResourceList{GroupVersion: v.GroupVersion, APIResources: []metav1.APIResource{{Name: "gateways", Kind: "Gateway", Verbs: verbs}}})
	}
	for range lists {
		lists = append(lists[1:], lists[0])
		for i, k := range versioned(groups, slices.Clone(lists), scheme.New()) {
			if k.GVR.Group != groups[i].Name {
				t.Fatalf("%d is of %s", i, k.GVR.Group)
			}
		}
	}
}
