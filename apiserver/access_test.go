package apiserver_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// Each case is a conversation of several users with an API server in memory that has RBAC, and with a real one.
func TestAccessConformance(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	t.Parallel() // it mostly waits for the real server
	real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	memory := apiserver.Start(t, apiserver.Options{RBAC: true})
	newPair(t, real, memory).compareEach(t, slices.Concat(userCases, roleCases, reviewCases, tokenCases, authorizerCases))
}

// as makes the following requests with the certificate of a user.
func (s *session) as(user string, groups ...string) {
	s.t.Helper()
	config, err := s.on.UserConfig(user, groups...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.client = httpClient(s.t.(*testing.T), config)
	s.note("as %s %q", user, groups)
}

// asAdmin makes the following requests as the administrator.
func (s *session) asAdmin() {
	s.client = httpClient(s.t.(*testing.T), s.on.RESTConfig())
	s.note("as the administrator")
}

// asNobody makes the following requests without credentials, but for those in their headers.
func (s *session) asNobody() {
	s.client = httpClient(s.t.(*testing.T), rest.AnonymousClientConfig(s.on.RESTConfig()))
	s.note("as nobody")
}

// grant gives a user permissions in the namespace of the case, by a Role with the user's name.
func (s *session) grant(user string, rules ...string) {
	s.t.Helper()
	s.asAdmin()
	s.post("/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"`+user+`"},"rules":[`+strings.Join(append(rules, known), ",")+`]}`)
	s.post("/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"`+user+`"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"`+user+`"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`)
	s.seen(user, "NS")
}

// seen waits until the server knows the permissions of a user: the real one reads a cache.
func (s *session) seen(user, namespace string) {
	s.t.Helper()
	s.settled(fmt.Sprintf(`{"user":%q,"resourceAttributes":{"namespace":%q,"verb":"known","resource":"grants"}}`, user, s.path(namespace)), true)
}

// settled waits until a user may do something, or no longer.
func (s *session) settled(spec string, allowed bool) {
	s.t.Helper()
	body := `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":` + spec + `}`
	admin := session{t: s.t, client: httpClient(s.t.(*testing.T), s.on.RESTConfig()), url: s.url, again: s.again}
	admin.until(spec, func() bool {
		_, _, text := admin.send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
		var review struct{ Status struct{ Allowed bool } }
		return json.Unmarshal(text, &review) == nil && review.Status.Allowed == allowed
	})
}

// known is a rule of each role. When seen observes it, the other rules of the role are known, too.
const known = `{"apiGroups":[""],"resources":["grants"],"verbs":["known"]}`

func rule(group, resources, verbs string, names ...string) string {
	text := func(list string) string {
		out, err := json.Marshal(strings.Split(list, ","))
		if err != nil {
			panic(err) // strings
		}
		return string(out)
	}
	r := `{"apiGroups":` + text(group) + `,"resources":` + text(resources) + `,"verbs":` + text(verbs)
	if len(names) > 0 {
		r += `,"resourceNames":` + text(strings.Join(names, ","))
	}
	return r + "}"
}

const configMapA = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`

// userCases are about authentication and impersonation.
var userCases = []conformanceCase{
	{"nobody", func(s *session) {
		s.asNobody()
		for _, path := range []string{"~/configmaps", "~/configmaps/a", "/api/v1/nodes", "/api", "/apis", "/apis/apps/v1", "/metrics", "/nothing", "/openapi/v3"} {
			s.get(path)
		}
		s.post("~/configmaps", configMapA)
		s.delete("~/configmaps", "")
		s.patch(mergePatch, "/apis/apps/v1/namespaces/NS/deployments/a/scale", `{}`)
		s.do("GET", "/healthz", "")
		s.do("GET", "/livez", "")
		s.do("GET", "/readyz", "")
		s.reached("/version")
	}},
	{"grants of more than one has, with generated names", func(s *session) {
		s.grant("sue", rule("rbac.authorization.k8s.io", "roles,rolebindings", "create"), rule("", "pods", "list"))
		s.post("/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"more"},"rules":[`+rule("", "secrets", "get")+`]}`)
		s.seen("sue", "NS")
		s.as("sue")
		for _, name := range []string{`"name":"a"`, `"generateName":"a-"`} {
			for _, accept := range []string{jsonType, yamlType, protobufType} {
				for _, object := range []string{
					`"kind":"Role","rules":[` + rule("", "pods", "get,list") + `]`,
					`"kind":"Role","rules":[` + rule("", "secrets", "get") + "," + rule("apps", "deployments", "*") + `]`,
					`"kind":"RoleBinding","roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"more"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"sue"}]`,
					`"kind":"RoleBinding","roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"nothing"}`,
					`"kind":"RoleBinding","roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Other","name":"nothing"}`,
				} {
					kind := "/roles"
					if strings.Contains(object, "RoleBinding") {
						kind = "/rolebindings"
					}
					for _, query := range []string{"", "?pretty=true", "?dryRun=All"} {
						s.do("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/NS"+kind+query, `{"apiVersion":"rbac.authorization.k8s.io/v1","metadata":{`+name+`},`+object+`}`, "Accept", accept)
					}
				}
			}
		}
	}},
	{"what the server does within a request needs no role", func(s *session) {
		s.grant("sue", rule("", "services", "*"))
		s.as("sue")
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`)
		s.post("~/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"b"},"spec":{"clusterIP":"None"}}`)
		s.patch(mergePatch, "~/services/b", `{"spec":{"type":"ExternalName","externalName":"x.example.com","clusterIP":"","clusterIPs":null}}`)
		s.patch(mergePatch, "~/services/b", `{"spec":{"type":"NodePort","externalName":null,"ports":[{"port":80}]}}`)
		s.delete("~/services/a", "")
		s.delete("~/services", "")
	}},
	{"a user without roles", func(s *session) {
		s.as("eve", "workers")
		for _, path := range []string{"~/configmaps", "~/configmaps/a", "~/pods/a/log", "/api/v1/namespaces", "/api/v1/namespaces/NS", "/api/v1/nodes/n", "/apis/apps/v1/deployments", "/metrics", "/logs/x"} {
			s.get(path)
		}
		s.get("~/configmaps?watch=true")
		s.get("~/configmaps?watch=false")
		s.get("~/configmaps?fieldSelector=metadata.name%3Da")
		s.put("~/configmaps/a", configMapA)
		s.patch(mergePatch, "~/configmaps/a", `{}`)
		s.delete("~/configmaps/a", "")
		s.delete("~/configmaps", "")
		s.post("~/pods/a/eviction", `{}`)
		s.post("/apis/example.com/v1/things", `{}`)
		s.put("/api/v1/namespaces/NS/finalize", `{}`)
		s.do("OPTIONS", "~/configmaps", "")
		for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/openapi/v3", "/version", "/healthz"} {
			s.reached(path)
		}
	}},
	{"markup in a name", func(s *session) {
		s.as("<eve> & \"co\"", "a<b")
		s.get("~/configmaps")
		s.get("/metrics")
	}},
	{"protobuf", func(s *session) {
		s.as("eve")
		code, _, text := s.send("GET", s.path("~/configmaps"), "", "Accept", "application/vnd.kubernetes.protobuf")
		s.note("%d %q", code, text)
		s.asNobody()
		code, _, text = s.send("GET", s.path("~/configmaps"), "", "Accept", "application/vnd.kubernetes.protobuf", "Authorization", "Bearer x")
		s.note("%d %q", code, text)
	}},
	{"bad tokens", func(s *session) {
		s.asNobody()
		for _, header := range []string{"Bearer x", "Bearer a.b.c", "bearer x", "Bearer  x", "Bearer ", "Basic eDp5", "x", "Bearer " + unsigned("https://kubernetes.default.svc.cluster.local"), "Bearer " + unsigned("kubernetes/serviceaccount"), "Bearer " + unsigned("https://example.com")} {
			s.do("GET", "~/configmaps", "", "Authorization", header)
		}
		s.do("GET", "/healthz", "", "Authorization", "Bearer x")
		s.as("eve")
		s.do("GET", "~/configmaps", "", "Authorization", "Bearer x") // the certificate counts
	}},
	{"who am i", func(s *session) {
		const path, body = "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
		s.as("eve", "a", "b")
		s.post(path, body)
		s.do("POST", path, body, "Accept", acceptTable)
		s.as("system:serviceaccount:NS:default", "system:serviceaccounts")
		s.post(path, body)
		s.asNobody()
		s.post(path, body)
		s.asAdmin()
		s.post(path, body)
		s.do("POST", path, body, "Impersonate-User", "system:node:n") // before others: DIFFERENCES.md
		s.do("POST", path, body, "Impersonate-User", "bob", "Impersonate-Uid", "7", "Impersonate-Group", "g", "Impersonate-Extra-Scopes", "x", "Impersonate-Extra-A%2fb", "y")
		s.do("POST", path, body, "Impersonate-User", "system:serviceaccount:NS:robot")
		s.do("POST", path, body, "Impersonate-User", "system:serviceaccount:NS:robot", "Impersonate-Group", "g")
		s.do("POST", path, body, "Impersonate-User", "system:anonymous")
		s.do("POST", path, body, "Impersonate-User", "bob", "Impersonate-Group", "system:unauthenticated")
		s.do("POST", path, body, "Impersonate-User", "bob", "Impersonate-Group", "system:authenticated")
	}},
	{"impersonate", func(s *session) {
		s.do("GET", "~/configmaps", "", "Impersonate-User", "eve")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "eve", "Impersonate-Group", "system:masters")
		s.do("GET", "~/configmaps", "", "Impersonate-Group", "system:masters")
		s.do("GET", "~/configmaps", "", "Impersonate-Uid", "1")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "system:anonymous")
		s.do("GET", "/metrics", "", "Impersonate-User", "eve")
		s.do("POST", "~/configmaps", configMapA, "Impersonate-User", "eve", "Impersonate-Group", "system:masters")
	}},
	{"impersonate without permission", func(s *session) {
		s.as("mallory")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "admin")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "admin", "Impersonate-Group", "system:masters")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "system:serviceaccount:NS:default")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "system:node:n")
		s.do("GET", "/metrics", "", "Impersonate-User", "admin")
		s.do("GET", "~/configmaps", "", "Impersonate-Group", "system:masters")
		s.asNobody()
		s.do("GET", "~/configmaps", "", "Impersonate-User", "admin")
	}},
	{"impersonate with some permission", func(s *session) {
		s.clusterGrant("peter", rule("", "users", "impersonate", "paul"), rule("", "groups", "impersonate", "crew"), rule("authentication.k8s.io", "userextras/scopes", "impersonate", "view"))
		s.as("peter")
		const path, body = "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
		s.do("POST", path, body, "Impersonate-User", "paul")
		s.do("POST", path, body, "Impersonate-User", "paul", "Impersonate-Group", "crew", "Impersonate-Extra-Scopes", "view")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "paul")
	}},
	{"impersonate within limits", func(s *session) {
		s.clusterGrant("petra", rule("authentication.k8s.io", "users", "impersonate:user-info", "paula"), rule("", "configmaps", "impersonate-on:user-info:list"), rule("authentication.k8s.io", "selfsubjectreviews", "impersonate-on:user-info:create"))
		s.as("petra")
		const path, body = "/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`
		s.do("POST", path, body, "Impersonate-User", "paula")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "paula")
		s.do("GET", "~/secrets", "", "Impersonate-User", "paula")
		s.do("GET", "~/configmaps", "", "Impersonate-User", "pauline")
	}},
}

// clusterGrant gives a user permissions in the whole cluster.
func (s *session) clusterGrant(user string, rules ...string) {
	s.t.Helper()
	s.asAdmin()
	s.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"NS-`+user+`"},"rules":[`+strings.Join(append(rules, known), ",")+`]}`)
	s.bindEverywhere(user, "NS-"+user)
	s.seen(user, "")
}

func (s *session) bindEverywhere(user, role string) {
	s.t.Helper()
	s.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"NS-`+user+`"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+role+`"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"`+user+`"}]}`)
}

// unsigned returns a token of an issuer with a wrong signature.
func unsigned(issuer string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"ES256"}`) + "." + part(`{"iss":"`+issuer+`","sub":"system:serviceaccount:a:b"}`) + "." + part(strings.Repeat("x", 64))
}

// reached writes down whether a document is served, without its content.
func (s *session) reached(path string) {
	s.t.Helper()
	code, _, _ := s.send(http.MethodGet, path, "")
	s.note("GET %s: %d", path, code)
}
