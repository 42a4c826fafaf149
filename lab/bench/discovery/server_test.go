package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// server answers discovery with generated groups, without a network.
type server struct {
	groups            []metav1.APIGroup // the first is the core group
	resources         map[string][]metav1.APIResource
	fails             map[string]bool // by group version: stale, or without an answer
	coreWhole, allOne bool            // whether /api and /apis are aggregated
}

var drawn = struct{ groups, versions, kinds, plurals []string }{
	groups:   []string{"apps", "a.test", "a.test.io", "b.test"},
	versions: []string{"v1", "v1beta1", "v2"},
	kinds:    []string{"Pod", "pod", "PodList", "Widget", "WidgetList", "List", "Endpoints", "Policy", "Gas", "Übung", ""},
	plurals:  []string{"pods", "widgets", "widget", "podlists", "lists", "policies", "gases", "endpoints", "pods/status", "pods/scale"},
}

func newServer(r *rand.Rand) *server {
	s := &server{resources: map[string][]metav1.APIResource{}, fails: map[string]bool{}, coreWhole: r.IntN(2) == 0, allOne: r.IntN(2) == 0}
	for i, name := range append([]string{""}, shuffled(r, drawn.groups)...) {
		g := metav1.APIGroup{Name: name}
		for _, v := range shuffled(r, drawn.versions)[:1+r.IntN(len(drawn.versions))] {
			gv := metav1.GroupVersionForDiscovery{GroupVersion: strings.TrimPrefix(name+"/"+v, "/"), Version: v}
			g.Versions = append(g.Versions, gv)
			taken := names{"list": "lists", "lists": "lists"}
			for range r.IntN(12) {
				one := resource(r)
				// In the aggregated form every resource has a kind.
				if (one.Kind != "" || !s.coreWhole && !s.allOne) && taken.add(one) {
					s.resources[gv.GroupVersion] = append(s.resources[gv.GroupVersion], one)
				}
			}
			s.fails[gv.GroupVersion] = i > 0 && r.IntN(6) == 0
		}
		if i == 0 || r.IntN(4) > 0 {
			g.PreferredVersion = g.Versions[0]
		} else {
			g.PreferredVersion = g.Versions[r.IntN(len(g.Versions))]
		}
		s.groups = append(s.groups, g)
	}
	return s
}

// names maps the names of a group version's resources, singular and plural, to the plural.
type names map[string]string

// add rejects a resource that shares a name with another, since client-go's answer is then random.
func (n names) add(r metav1.APIResource) bool {
	if strings.Contains(r.Name, "/") {
		return true
	}
	gvk := schema.GroupVersionKind{Kind: r.Kind}
	_, singular := meta.UnsafeGuessKindToResource(gvk)
	if r.SingularName != "" {
		singular.Resource = r.SingularName
	}
	lists, list := meta.UnsafeGuessKindToResource(gvk.GroupVersion().WithKind(r.Kind + "List"))
	more := names{}
	for _, pair := range [][2]string{{r.Name, r.Name}, {singular.Resource, r.Name}, {lists.Resource, lists.Resource}, {list.Resource, lists.Resource}} {
		if of, ok := n[pair[0]]; ok && of != pair[1] {
			return false
		}
		if of, ok := more[pair[0]]; ok && of != pair[1] {
			return false
		}
		more[pair[0]] = pair[1]
	}
	maps.Copy(n, more)
	return true
}

func shuffled(r *rand.Rand, all []string) []string {
	all = slices.Clone(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func resource(r *rand.Rand) metav1.APIResource {
	one := func(all ...string) string { return all[r.IntN(len(all))] }
	kind := one(drawn.kinds...)
	return metav1.APIResource{
		Name: one(drawn.plurals...), SingularName: one("", strings.ToLower(kind), "pod", "widget"),
		Kind: kind, Namespaced: r.IntN(2) == 0, Verbs: metav1.Verbs{"get"}, ShortNames: []string{"x"},
	}
}

func (s *server) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "aggregated: /api %v, /apis %v\n", s.coreWhole, s.allOne)
	for _, g := range s.groups {
		fmt.Fprintf(&b, "group %q prefers %s\n", g.Name, g.PreferredVersion.Version)
		for _, v := range g.Versions {
			fmt.Fprintf(&b, "  %s fails %v %+v\n", v.GroupVersion, s.fails[v.GroupVersion], s.resources[v.GroupVersion])
		}
	}
	return b.String()
}

// CloseIdleConnections is called when a client is closed.
func (s *server) CloseIdleConnections() {}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	gv, ok := strings.CutPrefix(strings.Replace(r.URL.Path, "/apis/", "/api/", 1), "/api/")
	switch {
	case r.URL.Path == "/api" && s.coreWhole:
		s.whole(w, s.groups[:1])
	case r.URL.Path == "/apis" && s.allOne:
		s.whole(w, s.groups[1:])
	case r.URL.Path == "/api":
		var l metav1.APIVersions
		for _, v := range s.groups[0].Versions {
			l.Versions = append(l.Versions, v.Version)
		}
		write(w, "application/json", l)
	case r.URL.Path == "/apis":
		write(w, "application/json", metav1.APIGroupList{Groups: s.groups[1:]})
	case ok && slices.Contains(slices.Collect(maps.Keys(s.fails)), gv) && !s.fails[gv]:
		write(w, "application/json", metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv, APIResources: s.resources[gv],
		})
	default:
		http.Error(w, "down", http.StatusServiceUnavailable)
	}
	return w.Result(), nil
}

// whole answers in the aggregated form.
func (s *server) whole(w http.ResponseWriter, groups []metav1.APIGroup) {
	var l apidiscovery.APIGroupDiscoveryList
	for _, g := range groups {
		doc := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			now := apidiscovery.APIVersionDiscovery{Version: v.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
			if s.fails[v.GroupVersion] {
				now.Freshness = apidiscovery.DiscoveryFreshnessStale
			}
			for _, r := range s.resources[v.GroupVersion] {
				now.Resources = append(now.Resources, aggregated(r))
			}
			doc.Versions = append(doc.Versions, now)
		}
		l.Items = append(l.Items, doc)
	}
	write(w, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", l)
}

// aggregated returns a resource, with a subresource.
func aggregated(r metav1.APIResource) apidiscovery.APIResourceDiscovery {
	d := apidiscovery.APIResourceDiscovery{
		Resource: r.Name, SingularResource: r.SingularName, Scope: apidiscovery.ScopeCluster, Verbs: r.Verbs,
		ResponseKind: &metav1.GroupVersionKind{Kind: r.Kind},
		Subresources: []apidiscovery.APISubresourceDiscovery{{Subresource: "status", ResponseKind: &metav1.GroupVersionKind{Kind: r.Kind, Version: "v1"}}},
	}
	if r.Namespaced {
		d.Scope = apidiscovery.ScopeNamespace
	}
	return d
}

func write(w http.ResponseWriter, contentType string, v any) {
	w.Header().Set("Content-Type", contentType)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}
