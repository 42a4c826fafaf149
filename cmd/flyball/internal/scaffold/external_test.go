package scaffold

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// The plural and the scope of each kind of Kubernetes are those that a control plane serves.
func TestBuiltinKinds(t *testing.T) {
	c, err := client.New(servertest.Shared(t).RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	served := 0
	for _, k := range builtinKinds() {
		m, err := c.Mapper().RESTMapping(k.GroupKind(), k.Version)
		if meta.IsNoMatchError(err) {
			continue // this control plane does not have it
		}
		if err != nil {
			t.Fatal(err)
		}
		served++
		a := k.api()
		if a.Plural != m.Resource.Resource || a.Namespaced != (m.Scope.Name() == meta.RESTScopeNameNamespace) {
			t.Errorf("%s: %s, namespaced %t; the server has %s in scope %s", k, a.Plural, a.Namespaced, m.Resource.Resource, m.Scope.Name())
		}
		if err := (&Project{Domain: "example.com"}).checkAPI(a); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		if again, err := builtin(k.Group, k.Version, k.Kind); k.Group != "" && (err != nil || again.External.Path != k.path) {
			t.Errorf("%s by its whole name: %+v, %v", k, again, err)
		}
	}
	if served < 50 {
		t.Errorf("the server has %d of the kinds", served)
	}
}

func TestShortGroup(t *testing.T) {
	for group, want := range map[string]string{
		"core": "core", "apps": "apps", "batch": "batch", "rbac": "rbac", "rbac.authorization": "rbac", "rbac.authorization.k8s.io": "rbac",
		"networking.k8s.io": "networking", "": "", "shop": "", "v1": "",
	} {
		if got := shortGroup(group); got != want {
			t.Errorf("%q: %q, want %q", group, got, want)
		}
	}
}

// The Go names of controllers stay when the kind goes that they have to differ from.
func TestNamesStay(t *testing.T) {
	p := &Project{APIs: []API{{Group: "shop", Kind: "Order"}, {Group: "back-office", Kind: "Order"}, {Group: "shop", Kind: "Item"}}}
	var before []string
	for i := range p.APIs[1:] {
		before = append(before, p.ControllerName(&p.APIs[i+1]))
	}
	p.drop("shop", "Order")
	var after []string
	for i := range p.APIs {
		after = append(after, p.ControllerName(&p.APIs[i]))
	}
	if !slices.Equal(before, []string{"BackofficeOrder", "Item"}) || !slices.Equal(after, before) {
		t.Errorf("%v, then %v", before, after)
	}
}

// A group of the project and one of others cannot share a name.
func TestGroupOfOthers(t *testing.T) {
	p := &Project{Domain: "example.com", APIs: []API{{Group: "batch", Kind: "CronJob", Plural: "cronjobs", Namespaced: true, Hub: "v1", Versions: []Version{{Name: "v1"}}}}}
	job, err := builtin("batch", "v1", "Job")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.checkAPI(job); err == nil || !strings.Contains(err.Error(), "the group batch is batch.example.com in this project, not batch") {
		t.Errorf("%v", err)
	}
	p.Domain, p.APIs, p.Namespaced = "example.com", nil, true
	node, _ := builtin("core", "v1", "Node")
	if err := p.checkAPI(node); !errors.As(err, new(*ScopeError)) {
		t.Errorf("%v", err)
	}
}
