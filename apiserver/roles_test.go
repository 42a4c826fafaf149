package apiserver_test

import "strings"

const rbacPath = "/apis/rbac.authorization.k8s.io/v1"

func role(kind, name string, rules ...string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `"},"rules":[` + strings.Join(rules, ",") + `]}`
}

func binding(kind, name, roleKind, roleName, subject string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"` + roleKind + `","name":"` + roleName + `"},"subjects":[` + subject + `]}`
}

func person(name string) string {
	return `{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"` + name + `"}`
}

// roleCases are about permissions by roles.
var roleCases = []conformanceCase{
	{"a role", func(s *session) {
		s.grant("reader", rule("", "configmaps", "get,list,watch"), rule("", "secrets", "get", "one", "two"), rule("apps", "deployments/scale", "update,patch"))
		s.post("~/configmaps", configMapA)
		s.as("reader")
		s.get("~/configmaps")
		s.get("~/configmaps/a")
		s.get("/api/v1/configmaps")
		s.get("/api/v1/namespaces/default/configmaps")
		s.get("~/configmaps/none")
		s.get("~/secrets/one")
		s.get("~/secrets/three")
		s.get("~/secrets?fieldSelector=metadata.name%3Done")
		s.delete("~/configmaps/a", "")
		s.post("~/configmaps", configMapA)
		s.get("/apis/apps/v1/namespaces/NS/deployments/a/scale")
		s.patch(mergePatch, "/apis/apps/v1/namespaces/NS/deployments/a/scale", `{"spec":{"replicas":1}}`)
		w := s.watch("~/configmaps?watch=true&resourceVersion=0")
		w.next(1)
	}},
	{"a role for everything", func(s *session) {
		s.grant("lord", rule("*", "*", "*"))
		s.as("lord")
		s.post("~/configmaps", configMapA)
		s.get("~/pods")
		s.get("/apis/apps/v1/namespaces/NS/deployments")
		s.get("/api/v1/nodes")
		s.get("/api/v1/namespaces/NS")
		s.get("/api/v1/namespaces/default")
		s.delete("/api/v1/namespaces/default", "")
		s.get("/metrics")
		s.get("/apis/example.com/v1/namespaces/NS/things")
	}},
	{"names in a list", func(s *session) {
		s.grant("picker", rule("", "configmaps", "list,watch,deletecollection", "a"))
		s.post("~/configmaps", configMapA)
		s.as("picker")
		s.get("~/configmaps")
		s.get("~/configmaps?fieldSelector=metadata.name%3Da")
		s.get("~/configmaps?fieldSelector=metadata.name%3Db")
		s.delete("~/configmaps?fieldSelector=metadata.name%3Da", "")
		s.watch("~/configmaps?watch=true&resourceVersion=0&fieldSelector=metadata.name%3Da").next(1)
		s.watch("~/configmaps?watch=true&resourceVersion=0").end()
	}},
	{"create by update and patch", func(s *session) {
		s.grant("updater", rule("coordination.k8s.io", "leases", "update,patch"))
		s.as("updater")
		const leases = "/apis/coordination.k8s.io/v1/namespaces/NS/leases"
		s.put(leases+"/a", `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`)
		s.patch(applyPatch, leases+"/a?fieldManager=m", `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`)
		s.asAdmin()
		s.post(leases, `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a"}}`)
		s.as("updater")
		s.patch(applyPatch, leases+"/a?fieldManager=m", `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"a","labels":{"x":"y"}}}`)
	}},
	{"groups and service accounts", func(s *session) {
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "r", rule("", "configmaps", "list"), known))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "Role", "r",
			`{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"NS-crew"},{"kind":"ServiceAccount","name":"robot"},{"kind":"ServiceAccount","name":"robot","namespace":"NS"}`))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "Role", "r",
			`{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"NS-crew"},{"kind":"ServiceAccount","name":"robot","namespace":"NS"}`))
		s.settled(`{"groups":["`+s.ns+`-crew"],"resourceAttributes":{"namespace":"`+s.ns+`","verb":"list","resource":"configmaps"}}`, true)
		s.as("ann", s.ns+"-crew")
		s.get("~/configmaps")
		s.as("system:serviceaccount:" + s.ns + ":robot")
		s.get("~/configmaps")
		s.as("system:serviceaccount:other:robot")
		s.get("~/configmaps")
	}},
	{"a cluster role in one namespace", func(s *session) {
		s.post(rbacPath+"/clusterroles", role("ClusterRole", "NS", rule("", "configmaps,nodes", "list"), known, `{"nonResourceURLs":["/metrics"],"verbs":["get"]}`))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "ClusterRole", "NS", person("local")))
		s.seen("local", "NS")
		s.as("local")
		s.get("~/configmaps")
		s.get("/api/v1/configmaps")
		s.get("/api/v1/nodes")
		s.get("/metrics")
	}},
	{"paths", func(s *session) {
		s.clusterGrant("visitor", `{"nonResourceURLs":["/healthz/*","/lo*"],"verbs":["get"]}`)
		s.as("visitor")
		for _, path := range []string{"/metrics", "/logs/", "/healthz/none"} {
			s.reached(path)
		}
		s.post("/logs/x", "{}")
	}},
	{"a role that is missing", func(s *session) {
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "Role", "none", person("lost")))
		s.grant("lost")
		s.as("lost")
		s.get("~/configmaps")
	}},
	{"a role that changes", func(s *session) {
		const may = `{"user":"fickle","resourceAttributes":{"namespace":"NS","verb":"list","resource":"configmaps"}}`
		s.grant("fickle", rule("", "configmaps", "list"))
		s.as("fickle")
		s.get("~/configmaps")
		s.asAdmin()
		s.patch(mergePatch, rbacPath+"/namespaces/NS/roles/fickle", `{"rules":[`+rule("", "pods", "list")+`]}`)
		s.settled(s.path(may), false)
		s.as("fickle")
		s.get("~/configmaps")
		s.asAdmin()
		s.patch(mergePatch, rbacPath+"/namespaces/NS/roles/fickle", `{"rules":[`+rule("", "configmaps", "list")+`]}`)
		s.settled(s.path(may), true)
		s.as("fickle")
		s.get("~/configmaps")
		s.asAdmin()
		s.delete(rbacPath+"/namespaces/NS/rolebindings/fickle", "")
		s.settled(s.path(may), false)
		s.as("fickle")
		s.get("~/configmaps")
	}},
	{"empty lists", func(s *session) {
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "none"))
		s.patch(mergePatch, rbacPath+"/namespaces/NS/roles/none", `{"rules":[`+known+`]}`)
		s.patch(mergePatch, rbacPath+"/namespaces/NS/roles/none", `{"rules":[]}`)
		s.get(rbacPath + "/namespaces/NS/roles/none")
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "none", "Role", "none", ""))
		s.post("/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices", `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"a","finalizers":[],"labels":{}},"addressType":"IPv4","endpoints":[],"ports":[]}`)
		s.get("/apis/discovery.k8s.io/v1/namespaces/NS/endpointslices")
		s.post("/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies", `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"a"},"spec":{"podSelector":{},"ingress":[],"egress":[{"to":[]}],"policyTypes":[]}}`)
	}},
	{"escalation", func(s *session) {
		s.grant("climber", rule("rbac.authorization.k8s.io", "roles,rolebindings", "*"), rule("", "configmaps", "get,list"))
		s.as("climber")
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "same", rule("", "configmaps", "get")))
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "more", rule("", "configmaps", "get,delete"), rule("", "secrets", "list", "x")))
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "all", rule("*", "*", "*")))
		s.patch(mergePatch, rbacPath+"/namespaces/NS/roles/same", `{"rules":[`+rule("", "pods", "get")+`]}`)
		s.patch(mergePatch, rbacPath+"/namespaces/NS/roles/same", `{"metadata":{"labels":{"x":"y"}}}`)
		s.put(rbacPath+"/namespaces/NS/roles/same", role("Role", "same", rule("", "configmaps", "get,watch")))
		s.post(rbacPath+"/clusterroles", role("ClusterRole", "NS", rule("", "configmaps", "get")))
		s.delete(rbacPath+"/namespaces/NS/roles/same", "")
	}},
	{"escalate", func(s *session) {
		s.grant("giver", rule("rbac.authorization.k8s.io", "roles", "create,escalate"))
		s.as("giver")
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "all", rule("*", "*", "*")))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "Role", "all", person("giver")))
	}},
	{"bind", func(s *session) {
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "strong", rule("", "secrets", "*")))
		s.post(rbacPath+"/namespaces/NS/roles", role("Role", "stronger", rule("", "secrets,pods", "*")))
		s.grant("binder", rule("rbac.authorization.k8s.io", "rolebindings", "create,update,patch"), rule("rbac.authorization.k8s.io", "roles", "bind", "strong"))
		s.as("binder")
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "a", "Role", "strong", person("x")))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "Role", "stronger", person("x")))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "c", "Role", "none", person("x")))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "d", "ClusterRole", "cluster-admin", person("x")))
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "e", "Role", "binder", person("x")))
		s.patch(mergePatch, rbacPath+"/namespaces/NS/rolebindings/a", `{"subjects":[`+person("y")+`]}`)
		s.patch(mergePatch, rbacPath+"/namespaces/NS/rolebindings/a", `{"roleRef":{"name":"stronger"}}`)
	}},
	{"cluster escalation", func(s *session) {
		s.clusterGrant("baron", rule("rbac.authorization.k8s.io", "clusterroles,clusterrolebindings", "create,update,patch"), rule("", "nodes", "list"))
		s.as("baron")
		s.post(rbacPath+"/clusterroles", role("ClusterRole", "NS-1", rule("", "nodes", "list")))
		s.post(rbacPath+"/clusterroles", role("ClusterRole", "NS-2", rule("", "nodes", "get"), `{"nonResourceURLs":["/metrics"],"verbs":["get"]}`))
		s.post(rbacPath+"/clusterroles", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"NS-3"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`)
		s.post(rbacPath+"/clusterrolebindings", binding("ClusterRoleBinding", "NS-1", "ClusterRole", "NS-1", person("x")))
		s.post(rbacPath+"/clusterrolebindings", binding("ClusterRoleBinding", "NS-2", "ClusterRole", "cluster-admin", person("x")))
	}},
	{"cluster-admin by a binding", func(s *session) {
		s.bindEverywhere("king", "cluster-admin")
		s.settled(`{"user":"king","resourceAttributes":{"verb":"list","resource":"nodes"}}`, true)
		s.as("king")
		s.get("/apis/apps/v1/namespaces/NS/deployments")
		s.post("~/configmaps", configMapA)
		s.post(rbacPath+"/clusterroles", role("ClusterRole", "NS", rule("*", "*", "*"), `{"nonResourceURLs":["*"],"verbs":["*"]}`))
		s.do("GET", "~/configmaps", "", "Impersonate-User", "eve")
		s.asAdmin()
		s.delete(rbacPath+"/clusterrolebindings/NS-king", "")
	}},
	{"roles at the start", func(s *session) {
		for _, kind := range []string{"clusterroles", "clusterrolebindings", "namespaces/kube-system/roles", "namespaces/kube-system/rolebindings", "namespaces/kube-public/roles", "namespaces/kube-public/rolebindings"} {
			s.get(rbacPath + "/" + kind + "?labelSelector=kubernetes.io%2Fbootstrapping%3Drbac-defaults")
		}
	}},
	{"the server's own users", func(s *session) {
		s.as("system:kube-scheduler")
		s.get("/api/v1/nodes")
		s.get("~/secrets")
		s.as("system:kube-controller-manager")
		s.get("~/secrets")
		s.post("~/configmaps", configMapA)
		s.as("system:serviceaccount:kube-system:deployment-controller", "system:serviceaccounts")
		s.get("/apis/apps/v1/deployments")
		s.get("/apis/apps/v1/statefulsets")
		s.as("system:serviceaccount:kube-system:namespace-controller")
		s.get("~/pods")
	}},
}
