package weigh

import (
	"fmt"
	"strings"
	"testing"
)

func TestScopes(t *testing.T) {
	secrets := resourceOf("", "v1", "secrets", "Secret", true)
	deployments := resourceOf("apps", "v1", "deployments", "Deployment", true)
	role := func(kind, meta, rules string) string {
		return fmt.Sprintf("kind: %s\nmetadata: {name: r%s}\nrules: [%s]\n", kind, meta, rules)
	}
	for _, c := range []struct {
		name, text string
		want       map[string]Resource // scope → kind
		not        []Resource
	}{
		{"list and watch", role("ClusterRole", "", `{apiGroups: [""], resources: [configmaps, nodes], verbs: [get, list, watch]}, {apiGroups: [apps], resources: [deployments], verbs: [get, list]}`),
			map[string]Resource{"all": configMaps, "all ": nodes}, []Resource{secrets, deployments, widgets}},
		{"in two rules", role("ClusterRole", "", `{apiGroups: [""], resources: [configmaps], verbs: [list]}, {apiGroups: ["", apps], resources: [configmaps], verbs: [watch]}`),
			map[string]Resource{"all": configMaps}, []Resource{secrets}},
		{"everything", role("ClusterRole", "", `{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}`),
			map[string]Resource{"all": widgets, "all ": nodes}, nil},
		{"of a group", role("ClusterRole", "", `{apiGroups: [apps], resources: ["*"], verbs: [list, watch]}`),
			map[string]Resource{"all": deployments}, []Resource{configMaps, widgets}},
		{"single objects and subresources", role("ClusterRole", "", `{apiGroups: [""], resources: [secrets], resourceNames: [tls], verbs: [list, watch]}, {apiGroups: [apps], resources: [deployments/status], verbs: [list, watch]}`),
			nil, []Resource{secrets, deployments}},
		{"of a namespace", role("Role", ", namespace: shop", `{apiGroups: [""], resources: [configmaps, nodes], verbs: [list, watch]}`),
			map[string]Resource{"shop": configMaps}, []Resource{nodes}},
		{"of a namespace that is given", role("Role", "", `{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`),
			map[string]Resource{"given": configMaps}, nil},
		{"roles together", role("Role", ", namespace: shop", `{apiGroups: [""], resources: [configmaps, secrets], verbs: [list]}`) + "---\n" +
			role("Role", ", namespace: bank", `{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}`) + "---\n" +
			role("ClusterRole", "", `{apiGroups: [""], resources: [configmaps], verbs: [watch]}`) + "---\nkind: RoleBinding\n---\n",
			map[string]Resource{"bank,shop": configMaps}, []Resource{secrets}},
	} {
		p, err := ParseProgram([]byte(c.text), "given")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for want, r := range c.want {
			got, ok := p.scope(r)
			text := "all"
			if got.Namespaces != nil {
				text = strings.Join(got.Namespaces, ",")
			}
			if !ok || text != strings.TrimSpace(want) {
				t.Errorf("%s: %s: %s, %v, want %s", c.name, r.GVR.Resource, text, ok, want)
			}
		}
		for _, r := range c.not {
			if got, ok := p.scope(r); ok {
				t.Errorf("%s: %s: %v, want nothing", c.name, r.GVR.Resource, got)
			}
		}
	}
}

func TestNoRole(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it has no ClusterRole and no Role: it is empty"},
		{"---\n---\n", "it is empty"},
		{"kind: Deployment\n---\nkind: Service\n", "it has no ClusterRole and no Role, but a Deployment, a Service"},
		{"rules: []\n", "a document without a kind"},
		{"[1, 2]\n", "document 1: it is not an object"},
		{"kind: Role\nmetadata: {name: r}\n", "document 1: role r has no namespace: give it by --namespace"},
		{"kind: ClusterRole\nmetadata: {name: r}\nrules: {verbs: [list]}\n", "document 1: ClusterRole r: rules: "},
		{"kind: ClusterRole\nmetadata: {name: view}\naggregationRule: {}\nrules: []\n", "kubectl get clusterrole view -o yaml"},
		{"a: b: c\n", "document 1: "},
	} {
		if _, err := ParseProgram([]byte(c.text), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestNamed(t *testing.T) {
	p, err := ParseProgram([]byte(`
kind: ClusterRole
rules:
- {apiGroups: [example.com], resources: [widgets, widgets/status, "*"], verbs: [list, watch]}
- {apiGroups: [""], resources: [secrets, widgets], verbs: [get]}
- {apiGroups: ["*"], resources: [gadgets], verbs: [list, watch]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [list, watch]}
`), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.named()); got != "[widgets.example.com events or events.events.k8s.io]" {
		t.Error(got)
	}
}

func TestSelection(t *testing.T) {
	all := []Served{
		{Resource: configMaps, Short: []string{"cm", "configmap"}},
		{Resource: nodes, Short: []string{"no", "node"}},
		{Resource: widgets},
		{Resource: resourceOf("other.org", "v1", "widgets", "Widget", true)},
	}
	for _, c := range []struct{ names, want, missing string }{
		{"", "configmaps nodes widgets.example.com widgets.other.org", ""},
		{"cm,NODE", "configmaps nodes", ""},
		{"Widget", "widgets.example.com", ""},
		{"widgets.other.org,widgets.v1.example.com", "widgets.example.com widgets.other.org", ""},
		{"pods,cm,widgets.none.org", "configmaps", "pods widgets.none.org"},
	} {
		var names []string
		if c.names != "" {
			names = strings.Split(c.names, ",")
		}
		m := newMatcher(names)
		var got []string
		for _, k := range all {
			if m.match(k) {
				got = append(got, k.GVR.GroupResource().String())
			}
		}
		if strings.Join(got, " ") != c.want || strings.Join(m.missing(), " ") != c.missing {
			t.Errorf("%s: %v, missing %v", c.names, got, m.missing())
		}
	}
	s := Selection{Namespace: "shop"}
	if _, ok, why := s.scope(nodes); ok || why != errNoNamespace {
		t.Errorf("a namespace has nodes: %v", why)
	}
	if got, ok, why := s.scope(configMaps); !ok || why != nil || fmt.Sprint(got.Namespaces) != "[shop]" {
		t.Errorf("%v, %v, %v", got, ok, why)
	}
}

// What is excluded has a reason, and what the roles do not speak of has none.
func TestReasonsOfExclusion(t *testing.T) {
	secrets := resourceOf("", "v1", "secrets", "Secret", true)
	p, err := ParseProgram([]byte(`
kind: ClusterRole
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
- {apiGroups: [example.com], resources: [widgets], verbs: [watch]}
---
kind: Role
metadata: {namespace: bank}
rules:
- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [""], resources: [services], resourceNames: [one], verbs: [list, watch]}
- {apiGroups: [""], resources: [endpoints], verbs: [list]}
- {apiGroups: [""], resources: [secrets], verbs: [get]}
---
kind: Role
metadata: {namespace: shop}
rules: [{apiGroups: [""], resources: [endpoints], verbs: [watch]}]
`), "")
	if err != nil {
		t.Fatal(err)
	}
	core := func(plural, kind string) Resource { return resourceOf("", "v1", plural, kind, true) }
	for _, c := range []struct {
		of   Resource
		s    Selection
		want string
	}{
		{configMaps, Selection{}, "the roles permit list without watch"},
		{widgets, Selection{}, "the roles permit watch without list"},
		{nodes, Selection{}, "the objects are in no namespace, and only a Role permits them"},
		{core("services", "Service"), Selection{}, "the roles permit single objects only (resourceNames)"},
		{core("endpoints", "Endpoints"), Selection{}, "no namespace has both list and watch by the roles"},
		{core("pods", "Pod"), Selection{Namespace: "shop"}, "the roles permit namespace bank, not shop"},
		{secrets, Selection{}, "<nil>"},
		{secrets, Selection{Kinds: []string{"secrets"}}, "the roles of --program do not permit list and watch"},
	} {
		c.s.Program = p
		if got, ok, why := c.s.scope(c.of); ok || fmt.Sprint(why) != c.want {
			t.Errorf("%s: %v, %v, %v, want %s", c.of.GVR.Resource, got, ok, why, c.want)
		}
	}
	if !p.mentions("example.com") || p.mentions("apps") {
		t.Error("it speaks of example.com, and not of apps")
	}
}

// Roles come in lists and in several documents, with comments and separators as tools write them.
func TestRolesInLists(t *testing.T) {
	const rules = `"rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]`
	for name, text := range map[string]string{
		"a list":                "apiVersion: v1\nkind: List\nitems:\n- {kind: ServiceAccount}\n- {kind: ClusterRole, " + rules + "}\n",
		"a typed list":          `{"kind": "ClusterRoleList", "items": [{"metadata": {"name": "r"}, ` + rules + `}]}`,
		"lists in a list":       `{"kind": "List", "items": [{"kind": "List", "items": [{"kind": "ClusterRole", ` + rules + `}]}]}`,
		"the last document":     "# made by a tool\n---\n\n---\nkind: Deployment\n---\n# the role\n{kind: ClusterRole, " + rules + "}\n",
		"JSON, one by one":      `{"kind": "Deployment"}` + "\n" + `{"kind": "ClusterRole", ` + rules + `}`,
		"Windows":               "---\r\nkind: Deployment\r\n---\r\nkind: ClusterRole\r\n" + "rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]\r\n",
		"a list and a document": "kind: List\nitems: []\n---\n{kind: ClusterRole, " + rules + "}\n",
	} {
		p, err := ParseProgram([]byte(text), "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, ok := p.scope(configMaps); !ok {
			t.Errorf("%s: it allows no ConfigMaps", name)
		}
	}
	for text, want := range map[string]string{
		"kind: List\nitems: []\n":                                                                      "it has no ClusterRole and no Role, but an empty List",
		"kind: List\nitems: [{kind: Role, metadata: {name: r}}]\n":                                     "document 1: item 1: role r has no namespace",
		"kind: ClusterRole\n---\nkind: List\nitems: [{kind: A}, {kind: ClusterRole, rules: {a: b}}]\n": "document 2: item 2: ClusterRole : rules: ",
	} {
		if _, err := ParseProgram([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
