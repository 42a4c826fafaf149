package rbac_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/scheme"
)

func must(t testing.TB, rules ...rbacv1.PolicyRule) rbac.Rules {
	t.Helper()
	r, err := rbac.Parse(testobj.Role(rules...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInvalidRulesAreRejected(t *testing.T) {
	for want, r := range map[string]rbacv1.PolicyRule{
		`rules[1].verbs: "*" grants`:                 testobj.Rule("", "pods", "get *"),
		`rules[1].apiGroups: "*" grants`:             testobj.Rule("*", "pods", "get"),
		`rules[1].resources: "*" grants`:             testobj.Rule("", "*", "get"),
		`rules[1].resources: "*/scale" grants`:       testobj.Rule("", "*/scale", "get"),
		`rules[1].resources: "pods/*" grants`:        testobj.Rule("", "pods/*", "get"),
		`rules[1].nonResourceURLs: "/debug/*"`:       {NonResourceURLs: []string{"/debug/*"}, Verbs: []string{"get"}},
		`rules[1].verbs: is empty`:                   testobj.Rule("", "pods", ""),
		`rules[1].resources: is empty`:               testobj.Rule("", "", "get"),
		`rules[1].apiGroups: is empty`:               {Resources: []string{"pods"}, Verbs: []string{"get"}},
		`rules[1].resourceNames: has an empty name`:  testobj.Rule("", "pods", "get", ""),
		`rules[1].nonResourceURLs: stand beside res`: {NonResourceURLs: []string{"/m"}, Resources: []string{"pods"}, Verbs: []string{"get"}},
	} {
		data, err := json.Marshal(map[string]any{"rules": []rbacv1.PolicyRule{testobj.Rule("", "pods", "get"), r}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rbac.Parse(data); err == nil || !strings.HasPrefix(err.Error(), "document 1: "+want) || len(got.Permissions()) > 0 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func text(ps []rbac.Permission) (out []string) {
	for _, p := range ps {
		out = append(out, p.String())
	}
	return out
}

func TestMissingAndExcess(t *testing.T) {
	have := must(t, testobj.Rule("apps", "deployments", "get list delete"), testobj.Rule("", "secrets", "get"), testobj.Rule("", "configmaps", "get", "a", "b"))
	need := must(t, testobj.Rule("apps", "deployments", "get list patch"), testobj.Rule("apps", "deployments/status", "patch"), testobj.Rule("", "secrets", "get", "tls"), testobj.Rule("", "configmaps", "get", "a", "c"))
	if diff := cmp.Diff([]string{`get configmaps "c"`, "patch deployments.apps", "patch deployments.apps/status"}, text(rbac.Missing(have, need))); diff != "" {
		t.Errorf("missing: %s", diff)
	}
	if diff := cmp.Diff([]string{`get configmaps "b"`, "get secrets", "delete deployments.apps"}, text(rbac.Excess(have, need))); diff != "" {
		t.Errorf("excess: %s", diff)
	}
	if m, e := rbac.Missing(need, need), rbac.Excess(need, need); len(m)+len(e) > 0 {
		t.Errorf("of itself: %v %v", m, e)
	}
}

func TestParseErrorsNameTheDocument(t *testing.T) {
	for text, want := range map[string]string{
		"":     "it has no rules",
		"a: b": "it has no rules",
		"{":    "document 1: ",
		"kind: ClusterRole\nmetadata: {name: r}\nrules:\n- {apiGroups: [''], resources: ['*'], verbs: [get]}":                                                                              "ClusterRole r: rules[0].resources",
		"kind: ClusterRole\nmetadata: {name: r}\naggregationRule: {}\nrules: []\n---\nkind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: r}\nsubjects: [{kind: ServiceAccount}]": "ClusterRole r: its rules are aggregated",
		"kind: ServiceAccount\nmetadata: {name: r}": "it has no rules",
		"rules: 1": "document 1: ",
	} {
		if _, err := rbac.Parse([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	got, err := rbac.Parse([]byte("---\n# a role\nkind: Role\nmetadata: {name: r}\nrules:\n- {apiGroups: [''], resources: [pods], verbs: [get]}\n---\nkind: RoleBinding\n---\nrules:\n- {apiGroups: [''], resources: [pods], verbs: [list]}\n"))
	if err != nil || len(got.Permissions()) != 2 {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`))
	f.Add([]byte("kind: Role\nrules:\n- nonResourceURLs: [/metrics]\n  verbs: [get]\n---\n"))
	f.Add([]byte("rules: [{verbs: ['*']}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := rbac.Parse(text)
		if err != nil {
			return
		}
		rules := []rbacv1.PolicyRule{}
		for _, p := range r.Permissions() {
			rules = append(rules, p.Rule())
		}
		if again := must(t, rules...); !slices.Equal(again.Permissions(), r.Permissions()) {
			t.Errorf("%v, then %v", r.Permissions(), again.Permissions())
		}
	})
}

func done(verb, group, resource, sub string, code int) client.Done {
	return client.Done{Call: client.Call{Verb: verb, Resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, Subresource: sub}, Code: code}
}

func TestRecorderRecordsEveryRequest(t *testing.T) {
	var next atomic.Int32
	r := &rbac.Recorder{Next: func(client.Done) { next.Add(1) }}
	calls := []client.Done{
		done("list", "apps", "deployments", "", 200), done("watch", "apps", "deployments", "", 403),
		done("apply", "apps", "deployments", "", 200), done("apply", "", "services", "", 201),
		done("patch", "apps", "deployments", "scale", 0), done("deletecollection", "", "pods", "", 200),
		{Call: client.Call{Verb: "get", Kind: "version"}, Code: 200},
		done("watch", "coordination.k8s.io", "leases", "", 200),
		{Call: client.Call{Verb: "watch", Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Initial: true}, Code: 200},
	}
	var all sync.WaitGroup
	for _, d := range calls {
		all.Go(func() { r.Hook(d) })
	}
	all.Wait()
	r.Hook(calls[0])
	r.Add(rbac.Of(rbac.Permission{Verb: "get", Resource: "nodes"}))
	want := must(t, testobj.Rule("apps", "deployments", "list watch patch"), testobj.Rule("", "services", "create patch"), testobj.Rule("apps", "deployments/scale", "patch"), testobj.Rule("", "pods", "deletecollection"), testobj.Rule("", "nodes", "get"),
		testobj.Rule("coordination.k8s.io", "leases", "watch"), testobj.Rule("", "configmaps", "list watch"))
	if diff := cmp.Diff(want.Permissions(), r.Rules().Permissions()); diff != "" {
		t.Error(diff)
	}
	if got := int(next.Load()); got != len(calls)+1 {
		t.Errorf("the next hook was called %d times", got)
	}
	folder := t.TempDir()
	t.Setenv(rbac.FolderVariable, folder)
	for _, name := range []string{"a", "b"} {
		one := &fakeT{name: name}
		rbac.RecordTest(one, &client.Options{}).Add(r.Rules())
		one.end()
	}
	if err := os.WriteFile(filepath.Join(folder, "notes.txt"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := rbac.Load(folder)
	if diff := cmp.Diff(want.Permissions(), got.Permissions()); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := rbac.Load(t.TempDir()); err == nil {
		t.Error("an empty folder")
	}
}

// fakeT is a test whose end the caller decides.
type fakeT struct {
	name   string
	ends   []func()
	errors []string
}

func (f *fakeT) Helper()                   {}
func (f *fakeT) Name() string              { return f.name }
func (f *fakeT) Cleanup(c func())          { f.ends = append(f.ends, c) }
func (f *fakeT) Errorf(s string, a ...any) { f.errors = append(f.errors, fmt.Sprintf(s, a...)) }
func (f *fakeT) end() {
	for _, c := range f.ends {
		c()
	}
}

func events(t *testing.T) rbac.Rules {
	t.Helper()
	r, err := rbac.Features("events")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRecordTestSavesAFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made")
	t.Setenv(rbac.FolderVariable, folder)
	one, called := &fakeT{name: "TestOrders/with a name"}, false
	o := client.Options{Hook: func(client.Done) { called = true }}
	rec := rbac.RecordTest(one, &o)
	o.Hook(done("get", "", "pods", "", 200))
	rec.Add(events(t))
	again := client.Options{} // the same test starts a second manager
	rbac.RecordTest(one, &again)
	again.Hook(done("get", "", "nodes", "", 200))
	one.end()
	entries, _ := os.ReadDir(folder)
	if len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), "-rbac-TestOrders_with_a_name.json") {
		t.Fatalf("saved %v", entries)
	}
	got, err := rbac.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Permissions()) != 4 || !called || len(one.errors) > 0 {
		t.Errorf("%v, %v, %v", got.Permissions(), called, one.errors)
	}

	rerun := &fakeT{name: one.name}
	rbac.RecordTest(rerun, &client.Options{}).Add(events(t))
	rerun.end()
	if got, err := rbac.Load(folder); err != nil || len(got.Permissions()) != 2 || len(rerun.errors) > 0 {
		t.Errorf("of an earlier run: %v, %v, %q", got.Permissions(), err, rerun.errors)
	}

	t.Setenv(rbac.FolderVariable, "relative")
	two := &fakeT{name: "TestTwo"}
	rbac.RecordTest(two, &o)
	two.end()
	if len(two.errors) != 1 || !strings.Contains(two.errors[0], "absolute path") {
		t.Errorf("%q", two.errors)
	}
	t.Setenv(rbac.FolderVariable, "")
	three := &fakeT{name: "TestThree"}
	rbac.RecordTest(three, &o)
	if len(three.ends) > 0 {
		t.Error("it saves though nobody asked")
	}
}

func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	m.Add(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Guestbook"}, meta.RESTScopeNamespace)
	return m
}

func TestDeclaredKindsAreListedAndWatched(t *testing.T) {
	guestbook := &unstructured.Unstructured{}
	guestbook.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Guestbook"})
	got, err := rbac.Declared(scheme.New(), mapper(), &corev1.Pod{}, guestbook, &corev1.Pod{})
	want := must(t, testobj.Rule("", "pods", "get list watch"), testobj.Rule("example.com", "guestbooks", "get list watch"))
	if diff := cmp.Diff(want.Permissions(), got.Permissions()); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := rbac.Declared(scheme.New(), mapper(), &corev1.Node{}); !meta.IsNoMatchError(err) {
		t.Errorf("got %v", err)
	}
	if _, err := rbac.Declared(scheme.New(), mapper(), &unstructured.Unstructured{}); err == nil {
		t.Error("a kind without a name")
	}
}

func TestFeaturesGrantWhatTheyNeed(t *testing.T) {
	got, err := rbac.Features("leases", "owning=guestbooks.example.com", "owning=pods", "serving")
	want := must(t, testobj.Rule("coordination.k8s.io", "leases", "get watch create update"), testobj.Rule("example.com", "guestbooks/finalizers", "update"), testobj.Rule("", "pods/finalizers", "update"),
		testobj.Rule("authentication.k8s.io", "tokenreviews", "create"), testobj.Rule("authorization.k8s.io", "subjectaccessreviews", "create"))
	if diff := cmp.Diff(want.Permissions(), got.Permissions()); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range []string{"", "telepathy", "owning", "owning=", "owning=*.x", "owning=a/b", "leases=x"} {
		if _, err := rbac.Features("events", bad); err == nil || !strings.HasPrefix(err.Error(), bad+": want leases") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func ExampleRecorder() {
	rec := &rbac.Recorder{}
	// With options.Client.Hook = rec.Hook, the program runs:
	rec.Hook(done("list", "apps", "deployments", "", 200))
	rec.Hook(done("apply", "apps", "deployments", "", 201))
	for _, p := range rec.Rules().Permissions() {
		fmt.Println(p)
	}
	// Output:
	// list deployments.apps
	// create deployments.apps
	// patch deployments.apps
}

func ExampleMissing() {
	have, _ := rbac.Parse([]byte(`
kind: ClusterRole
metadata: {name: manager-role}
rules:
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, delete]
`))
	need := rbac.Of(
		rbac.Permission{Verb: "list", Group: "apps", Resource: "deployments"},
		rbac.Permission{Verb: "watch", Group: "apps", Resource: "deployments"},
		rbac.Permission{Verb: "patch", Group: "apps", Resource: "deployments/status"},
	)
	fmt.Println("missing:", rbac.Missing(have, need))
	fmt.Println("excess:", rbac.Excess(have, need))
	// Output:
	// missing: [patch deployments.apps/status]
	// excess: [get deployments.apps delete deployments.apps]
}
