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
	if _, ok := s.scope(nodes); ok {
		t.Error("a namespace has nodes")
	}
	if got, ok := s.scope(configMaps); !ok || fmt.Sprint(got.Namespaces) != "[shop]" {
		t.Errorf("%v, %v", got, ok)
	}
}
