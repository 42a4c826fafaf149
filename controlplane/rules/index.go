package main

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// above returns the handler of a path above all groups: the list of paths, and the list of groups. They do not look
// at the method. It returns nil for other paths.
func (d *documents) above(path string) http.Handler {
	switch path {
	case "/", "/index.html":
		return routes.IndexLister{StatusCode: http.StatusOK, PathProvider: d}
	case "/apis", "/apis/":
		return aggregated.WrapAggregatedDiscoveryToHandler(http.HandlerFunc(d.list), d.named, d.named)
	}
	return nil
}

// list answers with the list of groups.
func (d *documents) list(w http.ResponseWriter, r *http.Request) {
	all := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, g := range d.groups {
		all.Groups = append(all.Groups, g.APIGroup)
	}
	responsewriters.WriteObjectNegotiated(legacyscheme.Codecs, negotiation.DefaultEndpointRestrictions, schema.GroupVersion{}, w, r, http.StatusOK, all, false)
}

// ListedPaths are the paths of documents.
func (d *documents) ListedPaths() []string {
	paths := []string{"/.well-known/openid-configuration", "/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/version"}
	for _, check := range []string{"/healthz", "/livez", "/readyz"} {
		paths = append(paths, check, check+"/ping")
	}
	for _, g := range d.groups {
		paths = append(paths, "/apis/"+g.Name)
		for _, v := range g.Versions {
			paths = append(paths, "/apis/"+v.GroupVersion)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
