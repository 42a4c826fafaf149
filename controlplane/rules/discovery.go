package main

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	restful "github.com/emicklei/go-restful/v3"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// documents are the discovery documents, aggregated and not, and /version.
type documents struct {
	core, named aggregated.ResourceManager
	groups      []listedGroup
	// custom has the resources of each version of a group of custom resources; nil if the group has built-in versions.
	custom map[schema.GroupVersion][]metav1.APIResource
	// schemas serves the OpenAPI documents of custom resources.
	schemas func() (http.Handler, error)
}

type listedGroup struct {
	metav1.APIGroup
	priority int
	ranks    []int // the priority of each version, which are sorted by it
}

func newDocuments() *documents {
	return &documents{core: aggregated.NewResourceManager("api"), named: aggregated.NewResourceManager("apis"), custom: map[schema.GroupVersion][]metav1.APIResource{}}
}

func (d *documents) add(g group, v groupVersion, resources []apidiscoveryv2.APIResourceDiscovery) {
	found := apidiscoveryv2.APIVersionDiscovery{Version: v.name, Resources: resources, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
	if g.name == "" {
		d.core.AddGroupVersion(g.name, found)
		return
	}
	d.named.AddGroupVersion(g.name, found)
	d.named.SetGroupVersionPriority(metav1.GroupVersion{Group: g.name, Version: v.name}, g.priority, v.priority)
	spoken := metav1.GroupVersionForDiscovery{GroupVersion: g.name + "/" + v.name, Version: v.name}
	i := slices.IndexFunc(d.groups, func(l listedGroup) bool { return l.Name == g.name })
	if i < 0 {
		i = len(d.groups)
		d.groups = append(d.groups, listedGroup{APIGroup: metav1.APIGroup{Name: g.name}, priority: g.priority})
	}
	listed := &d.groups[i]
	at := slices.IndexFunc(listed.ranks, func(rank int) bool { return rank < v.priority })
	if at < 0 {
		at = len(listed.ranks)
	}
	listed.ranks = slices.Insert(listed.ranks, at, v.priority)
	listed.Versions = slices.Insert(listed.Versions, at, spoken)
	listed.PreferredVersion = listed.Versions[0]
}

// serveRoot adds the document of all groups.
func (d *documents) serveRoot(container *restful.Container) {
	d.ready()
	container.Add(aggregated.WrapAggregatedDiscoveryToHandler(http.HandlerFunc(d.list), d.named, d.named).GenerateWebService("/apis", metav1.APIGroupList{}))
}

// ready sorts the groups.
func (d *documents) ready() {
	slices.SortStableFunc(d.groups, func(a, b listedGroup) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.Name, b.Name))
	})
}

// handler returns the handler of a path if its document depends on definitions of custom resources, else nil.
func (d *documents) handler(path string) http.Handler {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch len(parts) {
	case 2:
		for _, g := range d.groups {
			if g.Name == parts[1] {
				return discovery.NewAPIGroupHandler(legacyscheme.Codecs, g.APIGroup)
			}
		}
	case 3:
		gv := schema.GroupVersion{Group: parts[1], Version: parts[2]}
		if plain := d.custom[gv]; plain != nil {
			return discovery.NewAPIVersionHandler(legacyscheme.Codecs, gv, discovery.APIResourceListerFunc(func() []metav1.APIResource { return plain }))
		}
	}
	return nil
}

var addresses = discovery.DefaultAddresses{DefaultAddress: "127.0.0.1"}

func (d *documents) serve(container *restful.Container) {
	legacy := discovery.NewLegacyRootAPIHandler(addresses, legacyscheme.Codecs, "/api")
	container.Add(aggregated.WrapAggregatedDiscoveryToHandler(legacy, d.core, d.core).GenerateWebService("/api", metav1.APIVersions{}))
	d.serveRoot(container)
	for _, g := range d.groups {
		container.Add(discovery.NewAPIGroupHandler(legacyscheme.Codecs, g.APIGroup).WebService())
	}
	routes.Version{Version: compatibility.DefaultBuildEffectiveVersion().Info()}.Install(container)
}
