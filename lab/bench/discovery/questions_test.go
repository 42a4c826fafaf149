package discovery

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/flyball-io/flyball/client"
)

// ours returns the mapper of a Flyball client.
func ours(t *testing.T, cfg *rest.Config) meta.RESTMapper {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c.Mapper()
}

// theirs returns the mapper that client-go makes of its own discovery.
func theirs(t *testing.T, cfg *rest.Config) (meta.RESTMapper, []*restmapper.APIGroupResources) {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(d)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		t.Fatal(err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups), groups
}

// words are the parts of questions.
type words struct{ groups, versions, kinds, resources map[string]bool }

func newWords() words {
	n := words{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, s := range []string{"", "no.such.group"} {
		n.groups[s] = true
	}
	for _, s := range []string{"", "v1", "v99", "__internal"} {
		n.versions[s] = true
	}
	for _, s := range []string{"", "List", "Nothing"} {
		n.kinds[s] = true
	}
	for _, s := range []string{"", "lists", "nothings"} {
		n.resources[s] = true
	}
	return n
}

// of adds the words that a server has, and similar ones.
func (n words) of(groups ...*restmapper.APIGroupResources) words {
	for _, g := range groups {
		n.groups[g.Group.Name] = true
		for v, resources := range g.VersionedResources {
			n.versions[v] = true
			for _, r := range resources {
				n.kinds[r.Kind], n.kinds[strings.ToLower(r.Kind)], n.kinds[r.Kind+"List"] = true, true, true
				n.resources[r.Name], n.resources[r.SingularName], n.resources[strings.ToUpper(r.Name)] = true, true, true
				n.resources[strings.ToLower(r.Kind)+"lists"] = true
			}
		}
	}
	for g := range maps.Clone(n.groups) {
		n.groups[g[:len(g)/2]] = true
	}
	return n
}

// same asks both mappers all questions made of the words.
func (n words) same(t *testing.T, ours, theirs meta.RESTMapper) {
	t.Helper()
	groups, versions := slices.Sorted(maps.Keys(n.groups)), slices.Sorted(maps.Keys(n.versions))
	for _, group := range groups {
		for _, kind := range slices.Sorted(maps.Keys(n.kinds)) {
			gk := schema.GroupKind{Group: group, Kind: kind}
			mapping(t, ours, theirs, gk)
			mapping(t, ours, theirs, gk, versions...)
			for _, v := range versions {
				mapping(t, ours, theirs, gk, v)
			}
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(n.resources)) {
		check(t, "ResourceSingularizer", resource, ours.ResourceSingularizer, theirs.ResourceSingularizer)
		for _, group := range groups {
			for _, v := range versions {
				gvr := schema.GroupVersionResource{Group: group, Version: v, Resource: resource}
				check(t, "KindFor", gvr, ours.KindFor, theirs.KindFor)
				check(t, "KindsFor", gvr, ours.KindsFor, theirs.KindsFor)
				check(t, "ResourceFor", gvr, ours.ResourceFor, theirs.ResourceFor)
				check(t, "ResourcesFor", gvr, ours.ResourcesFor, theirs.ResourcesFor)
			}
		}
	}
}

func mapping(t *testing.T, ours, theirs meta.RESTMapper, gk schema.GroupKind, versions ...string) {
	t.Helper()
	one := func(m meta.RESTMapper) func(schema.GroupKind) (*meta.RESTMapping, error) {
		return func(gk schema.GroupKind) (*meta.RESTMapping, error) { return m.RESTMapping(gk, versions...) }
	}
	all := func(m meta.RESTMapper) func(schema.GroupKind) ([]*meta.RESTMapping, error) {
		return func(gk schema.GroupKind) ([]*meta.RESTMapping, error) { return m.RESTMappings(gk, versions...) }
	}
	what := fmt.Sprintf("%q", versions)
	check(t, "RESTMapping "+what, gk, one(ours), one(theirs))
	check(t, "RESTMappings "+what, gk, all(ours), all(theirs))
}

func check[Q, A any](t *testing.T, what string, question Q, ours, theirs func(Q) (A, error)) {
	t.Helper()
	got, gotErr := ours(question)
	want, wantErr := theirs(question)
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || meta.IsNoMatchError(gotErr) != meta.IsNoMatchError(wantErr) ||
		meta.IsAmbiguousError(gotErr) != meta.IsAmbiguousError(wantErr) {
		t.Fatalf("%s %+v: error %v, client-go's %v", what, question, gotErr, wantErr)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s %+v: %+v, client-go's %+v", what, question, got, want)
	}
}
