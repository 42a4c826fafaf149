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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/scheme"
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

// The packed figures of a cluster are what a cache then holds. No kind is weighed twice. APIServices are a kind of
// Kubernetes without a Go type here.
func TestCluster(t *testing.T) {
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{})
	namespace := servertest.Namespace(t, p)
	fill(t, c, namespace)
	s := scheme.New()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "role-of-" + namespace}}
	if _, err := client.Create(t.Context(), c, role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Delete(context.Background(), c, role); err != nil {
			t.Error(err)
		}
	})
	var pages []string
	r, err := Cluster(t.Context(), p.RESTConfig(), s, Options{
		Progress: func(text string) { pages = append(pages, text) },
		Problem:  func(err error) { t.Log(err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(pages, func(text string) bool {
		return strings.HasPrefix(text, "weighing configmaps, ") && strings.HasSuffix(text, fmt.Sprintf(": %d objects", pageSize))
	}) {
		t.Errorf("%q", pages)
	}
	if of := find(t, r, "events"); of.Objects == 0 {
		t.Errorf("%+v", of)
	}
	if slices.ContainsFunc(r.Kinds, func(k Kind) bool { return k.Resource == "events.events.k8s.io" }) {
		t.Errorf("Events are weighed twice: %+v", r.Kinds)
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
	permissions := []rbac.Permission{}
	for _, resource := range []string{"configmaps", "secrets"} {
		for _, verb := range []string{"list", "watch"} {
			permissions = append(permissions, rbac.Permission{Verb: verb, Resource: resource})
		}
	}
	program := rbac.Of(append(permissions, rbac.Permission{Verb: "list", Resource: "nodes"})...)
	var problems []string
	var r *Report
	for { // the server learns of a new role a moment later
		problems = nil
		r, err = Cluster(t.Context(), cfg, scheme.New(), Options{
			Program: &program, Namespace: namespace,
			Problem: func(err error) { problems = append(problems, err.Error()) },
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
	if len(r.LeftOut) != 1 || !strings.Contains(text, "secrets is not weighed: ") || !strings.Contains(text, "forbidden") {
		t.Errorf("%+v\n%s", r.LeftOut, text)
	}
	if _, err := Cluster(t.Context(), cfg, scheme.New(), Options{Kinds: []string{"gadgets"}}); err == nil || !strings.Contains(err.Error(), `has no kind "gadgets"`) {
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
			r, err := Cluster(t.Context(), cfg, scheme.New(), Options{Kinds: []string{"configmaps", "namespaces"}})
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
		r, err := Cluster(ctx, p.RESTConfig(), scheme.New(), Options{Progress: func(text string) {
			if strings.HasSuffix(text, fmt.Sprintf(": %d objects", pageSize)) {
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

// Names select kinds as those of kubectl do. A name without a group means each kind that has it. Where a namespace is
// given, kinds that are in none are left out, and named.
func TestSelection(t *testing.T) {
	kind := func(group, plural, kind string, namespaced bool, short ...string) served {
		gv := schema.GroupVersion{Group: group, Version: "v1"}
		return served{Resource{GVK: gv.WithKind(kind), GVR: gv.WithResource(plural), Namespaced: namespaced}, short}
	}
	all := []served{
		kind("", "events", "Event", true), kind("", "nodes", "Node", false, "no"), kind("apps", "deployments", "Deployment", true, "deploy"),
		kind("events.k8s.io", "events", "Event", true), kind("a.example.com", "gateways", "Gateway", true), kind("b.example.com", "gateways", "Gateway", true),
	}
	may := func(group, resource string, verbs ...string) *rbac.Rules {
		var p []rbac.Permission
		for _, v := range verbs {
			p = append(p, rbac.Permission{Verb: v, Group: group, Resource: resource})
		}
		rules := rbac.Of(p...)
		return &rules
	}
	for _, c := range []struct {
		o                  Options
		want, left, failed string
	}{
		{Options{}, "events nodes deployments.apps gateways.a.example.com gateways.b.example.com", "", ""},
		{Options{Kinds: []string{"no", "Deployment"}}, "nodes deployments.apps", "", ""},
		{Options{Kinds: []string{"deploy.apps", "nodes.apps"}}, "", "", `has no kind "nodes.apps"`},
		{Options{Kinds: []string{"gateway"}}, "gateways.a.example.com gateways.b.example.com", "", ""},
		{Options{Kinds: []string{"gateways.v1.b.example.com"}}, "gateways.b.example.com", "", ""},
		{Options{Kinds: []string{"events.events.k8s.io"}}, "events.events.k8s.io", "", ""},
		{Options{Namespace: "d", Kinds: []string{"nodes", "deploy"}}, "deployments.apps", "nodes", ""},
		{Options{Program: may("apps", "deployments", "list", "watch")}, "deployments.apps", "", ""},
		{Options{Program: may("apps", "deployments", "list", "get")}, "", "", ""},
		{Options{Program: may("", "*", "*")}, "events nodes", "", ""},
		{Options{Program: may("events.k8s.io", "events", "list", "watch")}, "events.events.k8s.io", "", ""},
	} {
		c.o.Problem = func(error) {}
		of := &cluster{Options: c.o}
		chosen, err := of.selected(all)
		if c.failed != "" {
			if err == nil || !strings.Contains(err.Error(), c.failed) {
				t.Errorf("%+v: %v, want %q", c.o, err, c.failed)
			}
			continue
		}
		var got, left []string
		for _, k := range chosen {
			got = append(got, k.String())
		}
		for _, l := range of.report.LeftOut {
			left = append(left, l.Resource)
		}
		if err != nil || strings.Join(got, " ") != c.want || strings.Join(left, " ") != c.left {
			t.Errorf("%+v: %q without %q, %v, want %q without %q", c.o, got, left, err, c.want, c.left)
		}
	}
}
