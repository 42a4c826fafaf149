package apiserver_test

import "encoding/base64"

// peerCases are conversations that the tests of others have asked for.
var peerCases = []conformanceCase{
	{"privileged containers", func(s *session) {
		const spec = `"spec":{"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]}`
		s.post("~/pods", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},`+spec+`}`)
		s.post("/apis/apps/v1/namespaces/NS/deployments", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},
			"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},`+spec+`}}}`)
	}},
	{"continue tokens", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
		page := s.get("~/configmaps?limit=1")
		s.get("~/configmaps?limit=1&resourceVersion=0&continue=" + page.Metadata.Continue)
		s.get("~/configmaps?limit=1&resourceVersion=1&continue=" + page.Metadata.Continue)
		s.get("~/configmaps?limit=1&resourceVersion=" + page.Metadata.ResourceVersion + "&resourceVersionMatch=Exact&continue=" + page.Metadata.Continue)
		for _, token := range []string{
			`{"v":"meta.k8s.io/v1","rv":-1,"start":"/a\u0000"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}`,
			`{"v":"meta.k8s.io/v1","rv":0,"start":"/a"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":""}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"/"}`,
			`{"v":"meta.k8s.io/v1","rv":-1,"start":"../secrets"}`, `{"v":"meta.k8s.io/v1","rv":-1,"start":"//a"}`,
			`{"v":"meta.k8s.io/v2","rv":-1,"start":"/a"}`, `{}`,
		} {
			s.get("~/configmaps?limit=1&continue=" + base64.RawURLEncoding.EncodeToString([]byte(token)))
		}
	}},
}
