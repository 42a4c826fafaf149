package roles

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/ops/rbac"
)

func must(t testing.TB, rules ...rbacv1.PolicyRule) rbac.Rules {
	t.Helper()
	r, err := rbac.Parse(testobj.Role(rules...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPolicyRulesAreMerged(t *testing.T) {
	urls := func(verbs string, urls ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{NonResourceURLs: urls, Verbs: strings.Fields(verbs)}
	}
	for name, tc := range map[string]struct{ in, want []rbacv1.PolicyRule }{
		"nothing":            {},
		"verbs in order":     {[]rbacv1.PolicyRule{testobj.Rule("", "pods", "watch delete get"), testobj.Rule("", "pods", "list get escalate create")}, []rbacv1.PolicyRule{testobj.Rule("", "pods", "get list watch create delete escalate")}},
		"resources":          {[]rbacv1.PolicyRule{testobj.Rule("", "pods", "get"), testobj.Rule("", "nodes", "get")}, []rbacv1.PolicyRule{testobj.Rule("", "nodes pods", "get")}},
		"other verbs":        {[]rbacv1.PolicyRule{testobj.Rule("", "nodes pods", "get"), testobj.Rule("", "nodes", "list")}, []rbacv1.PolicyRule{testobj.Rule("", "nodes", "get list"), testobj.Rule("", "pods", "get")}},
		"groups":             {[]rbacv1.PolicyRule{testobj.Rule("", "events", "create"), testobj.Rule("events.k8s.io", "events", "create")}, []rbacv1.PolicyRule{testobj.Rule(" events.k8s.io", "events", "create")}},
		"subresources apart": {[]rbacv1.PolicyRule{testobj.Rule("apps", "deployments/status", "get"), testobj.Rule("apps", "deployments", "get list")}, []rbacv1.PolicyRule{testobj.Rule("apps", "deployments", "get list"), testobj.Rule("apps", "deployments/status", "get")}},
		"names":              {[]rbacv1.PolicyRule{testobj.Rule("", "secrets", "get", "b"), testobj.Rule("", "secrets", "get", "a")}, []rbacv1.PolicyRule{testobj.Rule("", "secrets", "get", "a", "b")}},
		"names and all":      {[]rbacv1.PolicyRule{testobj.Rule("", "secrets", "get update", "a"), testobj.Rule("", "secrets", "get list")}, []rbacv1.PolicyRule{testobj.Rule("", "secrets", "get list"), testobj.Rule("", "secrets", "update", "a")}},
		"names of two kinds": {[]rbacv1.PolicyRule{testobj.Rule("", "secrets", "get", "a"), testobj.Rule("", "configmaps", "get")}, []rbacv1.PolicyRule{testobj.Rule("", "configmaps", "get"), testobj.Rule("", "secrets", "get", "a")}},
		"urls":               {[]rbacv1.PolicyRule{urls("get", "/metrics"), urls("get", "/healthz")}, []rbacv1.PolicyRule{urls("get", "/healthz", "/metrics")}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, policyRules(must(t, tc.in...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func text(ps []rbac.Permission) (out []string) {
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func randomPermissions(r *rand.Rand) []rbac.Permission {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	all := make([]rbac.Permission, r.IntN(12))
	for i := range all {
		if r.IntN(10) == 0 {
			all[i] = rbac.Permission{Verb: "get", URL: one("/a", "/b")}
			continue
		}
		all[i] = rbac.Permission{Verb: one("get", "list", "create", "x"), Group: one("", "apps", "b.io"), Resource: one("a", "a/status", "b", "c"), Name: one("", "", "n", "m")}
	}
	return all
}

// Permissions that are merged into rules, written and read back are the same as before. No resource
// stands in two rules for the same names.
func TestNothingIsLostOrAdded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		given := randomPermissions(r)
		want := rbac.Of(given...)
		rules := policyRules(want)
		for _, p := range given {
			if !want.Covers(p) {
				t.Fatalf("%v is not covered", p)
			}
		}
		seen := map[string]bool{}
		for _, r := range rules {
			for _, g := range r.APIGroups {
				for _, res := range r.Resources {
					at := fmt.Sprint(g, res, r.ResourceNames)
					if seen[at] {
						t.Fatalf("two rules for %s: %v", at, rules)
					}
					seen[at] = true
				}
			}
		}
		slices.Reverse(given)
		if diff := cmp.Diff(rules, policyRules(rbac.Of(given...))); diff != "" {
			t.Fatalf("the order matters: %s", diff)
		}
		parsed, err := rbac.Parse(ClusterRole("r", want))
		if err != nil || !slices.Equal(parsed.Permissions(), want.Permissions()) {
			t.Fatalf("%v: %s", err, ClusterRole("r", want))
		}
	}
}

func TestNarrowedTakesNamesFromTheRole(t *testing.T) {
	have := must(t, testobj.Rule("", "secrets", "get", "a", "b"), testobj.Rule("", "secrets", "create delete"), testobj.Rule("", "pods", "get"), testobj.Rule("", "nodes", "list", "a"))
	need := must(t, testobj.Rule("", "secrets", "get create update"), testobj.Rule("", "pods", "get"), testobj.Rule("", "nodes", "get"), testobj.Rule("", "configmaps", "get", "c"))
	got := Narrowed(need, have)
	want := must(t, testobj.Rule("", "secrets", "get", "a", "b"), testobj.Rule("", "secrets", "create update"), testobj.Rule("", "pods", "get"), testobj.Rule("", "nodes", "get"), testobj.Rule("", "configmaps", "get", "c"))
	if diff := cmp.Diff(want.Permissions(), got.Permissions()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`get configmaps "c"`, "get nodes", "update secrets"}, text(rbac.Missing(have, got))); diff != "" {
		t.Errorf("missing: %s", diff)
	}
	if diff := cmp.Diff([]string{`list nodes "a"`, "delete secrets"}, text(rbac.Excess(have, got))); diff != "" {
		t.Errorf("excess: %s", diff)
	}
	// Narrowed leaves two kinds of permissions alone: those needed by name, and those certainly
	// needed for all objects.
	if missing := rbac.Missing(have, rbac.Union(got, must(t, testobj.Rule("", "secrets", "get")))); len(missing) != 4 {
		t.Errorf("missing: %v", missing)
	}
}

func TestFollowedAddsGet(t *testing.T) {
	got := Followed(must(t, testobj.Rule("apps", "deployments", "list watch"), testobj.Rule("", "pods", "watch"), testobj.Rule("", "nodes", "list")))
	want := must(t, testobj.Rule("apps", "deployments", "get list watch"), testobj.Rule("", "pods", "watch"), testobj.Rule("", "nodes", "list"))
	if diff := cmp.Diff(want.Permissions(), got.Permissions()); diff != "" {
		t.Error(diff)
	}
}

func done(verb, group, resource, sub string, code int) client.Done {
	return client.Done{Call: client.Call{Verb: verb, Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Subresource: sub}, Code: code}
}

func ExampleClusterRole() {
	rec := &rbac.Recorder{}
	// With options.Client.Hook = rec.Hook, the program runs:
	rec.Hook(done("list", "apps", "deployments", "", 200))
	rec.Hook(done("watch", "apps", "deployments", "", 200))
	rec.Hook(done("apply", "apps", "deployments", "", 201))
	events, err := rbac.Features("events")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", ClusterRole("manager-role", rbac.Union(Followed(rec.Rules()), events)))
	// Output:
	// apiVersion: rbac.authorization.k8s.io/v1
	// kind: ClusterRole
	// metadata:
	//   name: manager-role
	// rules:
	// - apiGroups:
	//   - apps
	//   resources:
	//   - deployments
	//   verbs:
	//   - get
	//   - list
	//   - watch
	//   - create
	//   - patch
	// - apiGroups:
	//   - events.k8s.io
	//   resources:
	//   - events
	//   verbs:
	//   - create
	//   - patch
}
