package apiserver_test

import "fmt"

const accessPath = "/apis/authorization.k8s.io/v1"

func accessReview(kind, spec string) string {
	return `{"apiVersion":"authorization.k8s.io/v1","kind":"` + kind + `","spec":` + spec + `}`
}

// reviewCases are reviews of permissions.
var reviewCases = []conformanceCase{
	{"review oneself", func(s *session) {
		s.grant("asker", rule("", "configmaps", "get,list"), rule("apps", "deployments", "*", "a"))
		s.as("asker")
		ask := func(attributes string) {
			s.post(accessPath+"/selfsubjectaccessreviews", accessReview("SelfSubjectAccessReview", "{"+attributes+"}"))
		}
		ask(`"resourceAttributes":{"namespace":"NS","verb":"get","resource":"configmaps"}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"delete","resource":"configmaps"}`)
		ask(`"resourceAttributes":{"verb":"get","resource":"configmaps"}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"*","resource":"*","group":"*"}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"get","resource":"deployments","group":"apps","name":"a"}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"get","resource":"deployments","group":"apps"}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"get","resource":"deployments","group":"apps","subresource":"scale","name":"a"}`)
		ask(`"nonResourceAttributes":{"path":"/api","verb":"get"}`)
		ask(`"nonResourceAttributes":{"path":"/metrics","verb":"get"}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"list","resource":"configmaps","labelSelector":{"rawSelector":"a=b"}}`)
		ask(`"resourceAttributes":{"namespace":"NS","verb":"list","resource":"configmaps","fieldSelector":{"requirements":[{"key":"metadata.name","operator":"In","values":["a"]}]}}`)
		ask(``)
		ask(`"resourceAttributes":{"verb":"get"},"nonResourceAttributes":{"path":"/","verb":"get"}`)
	}},
	{"review oneself without a name", func(s *session) {
		s.asNobody()
		s.post(accessPath+"/selfsubjectaccessreviews", accessReview("SelfSubjectAccessReview", `{"resourceAttributes":{"verb":"get","resource":"pods"}}`))
		s.post(accessPath+"/selfsubjectrulesreviews", accessReview("SelfSubjectRulesReview", `{"namespace":"NS"}`))
	}},
	{"review others", func(s *session) {
		s.grant("subject", rule("", "configmaps", "get"))
		for _, spec := range []string{
			`{"user":"subject","resourceAttributes":{"namespace":"NS","verb":"get","resource":"configmaps"}}`,
			`{"user":"subject","resourceAttributes":{"namespace":"default","verb":"get","resource":"configmaps"}}`,
			`{"user":"other","groups":["system:masters"],"resourceAttributes":{"verb":"get","resource":"nodes"}}`,
			`{"groups":["system:unauthenticated"],"nonResourceAttributes":{"path":"/healthz","verb":"get"}}`,
			`{"user":"x","uid":"1","extra":{"a":["b"]},"nonResourceAttributes":{"path":"/version","verb":"get"}}`,
			`{"resourceAttributes":{"verb":"get","resource":"nodes"}}`,
			`{"user":"x"}`,
			`{"user":"x","resourceAttributes":{"verb":"list","resource":"nodes","fieldSelector":{"rawSelector":"a in (","requirements":[]}}}`,
		} {
			s.post(accessPath+"/subjectaccessreviews", accessReview("SubjectAccessReview", spec))
		}
		s.as("subject")
		s.post(accessPath+"/subjectaccessreviews", accessReview("SubjectAccessReview", `{"user":"subject","resourceAttributes":{"verb":"get","resource":"nodes"}}`))
		s.get(accessPath + "/subjectaccessreviews")
	}},
	{"review in a namespace", func(s *session) {
		s.grant("tenant", rule("authorization.k8s.io", "localsubjectaccessreviews", "create"), rule("", "configmaps", "get"))
		s.as("tenant")
		path := accessPath + "/namespaces/NS/localsubjectaccessreviews"
		s.post(path, accessReview("LocalSubjectAccessReview", `{"user":"tenant","resourceAttributes":{"namespace":"NS","verb":"get","resource":"configmaps"}}`))
		s.post(path, accessReview("LocalSubjectAccessReview", `{"user":"tenant","resourceAttributes":{"namespace":"NS","verb":"get","resource":"secrets"}}`))
		s.post(path, accessReview("LocalSubjectAccessReview", `{"user":"tenant","resourceAttributes":{"namespace":"other","verb":"get","resource":"secrets"}}`))
		s.post(path, accessReview("LocalSubjectAccessReview", `{"user":"tenant","nonResourceAttributes":{"path":"/","verb":"get"}}`))
		s.post(accessPath+"/namespaces/default/localsubjectaccessreviews", accessReview("LocalSubjectAccessReview", `{"user":"tenant","resourceAttributes":{"namespace":"default","verb":"get","resource":"secrets"}}`))
	}},
	{"rules", func(s *session) {
		s.grant("lister", rule("", "configmaps", "get,list"), rule("apps", "deployments", "*", "a", "b"))
		s.as("lister")
		s.post(accessPath+"/selfsubjectrulesreviews", accessReview("SelfSubjectRulesReview", `{"namespace":"NS"}`))
		s.post(accessPath+"/selfsubjectrulesreviews", accessReview("SelfSubjectRulesReview", `{"namespace":"default"}`))
		s.post(accessPath+"/selfsubjectrulesreviews", accessReview("SelfSubjectRulesReview", `{}`))
		s.asAdmin()
		s.post(accessPath+"/selfsubjectrulesreviews", accessReview("SelfSubjectRulesReview", `{"namespace":"NS"}`))
	}},
	{"rules of a role that is missing", func(s *session) {
		s.post(rbacPath+"/namespaces/NS/rolebindings", binding("RoleBinding", "b", "Role", "none", person("strayed")))
		s.grant("strayed", rule("", "configmaps", "get"))
		s.as("strayed")
		s.post(accessPath+"/selfsubjectrulesreviews", accessReview("SelfSubjectRulesReview", `{"namespace":"NS"}`))
		s.post(accessPath+"/selfsubjectaccessreviews", accessReview("SelfSubjectAccessReview", `{"resourceAttributes":{"namespace":"NS","verb":"get","resource":"pods"}}`))
	}},
	{"review by impersonation", func(s *session) {
		s.grant("guest", rule("", "configmaps", "get"))
		for _, resource := range []string{"configmaps", "secrets"} {
			s.do("POST", accessPath+"/selfsubjectaccessreviews", accessReview("SelfSubjectAccessReview",
				fmt.Sprintf(`{"resourceAttributes":{"namespace":"NS","verb":"get","resource":%q}}`, resource)), "Impersonate-User", "guest")
		}
	}},
}
