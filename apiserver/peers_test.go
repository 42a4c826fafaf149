package apiserver_test

import (
	"encoding/base64"
	"fmt"
)

// peerCases are conversations that tests of other projects have led to.
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
	{"a kind whose list has another name", func(s *session) {
		s.post(definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
			"metadata":{"name":"noxus.peers.example.com"},"spec":{"group":"peers.example.com","scope":"Namespaced",
			"names":{"plural":"noxus","singular":"nonenglishnoxu","kind":"WishIHadChosenNoxu","listKind":"NoxuItemList","shortNames":["foo","bar","abc","def"]},
			"versions":[{"name":"v1beta1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`)
		const noxus = "/apis/peers.example.com/v1beta1/namespaces/NS/noxus"
		s.await(noxus, "NoxuItemList")
		s.post(noxus, `{"apiVersion":"peers.example.com/v1beta1","kind":"WishIHadChosenNoxu","metadata":{"name":"a","namespace":"NS"},"alpha":"x"}`)
		s.get(noxus)
		s.get(noxus + "/a")
		s.do("GET", noxus, "", "Accept", acceptTable)
		s.patch(mergePatch, noxus+"/a", `{"alpha":"y"}`)
		s.delete(noxus+"/a", "")
		s.delete(noxus+"/a", `{"kind":"DeleteOptions","apiVersion":"peers.example.com/v1beta1"}`)
		s.delete(noxus+"/a", `{"kind":"DeleteOptions","apiVersion":"peers.example.com/v1beta1","propagationPolicy":"Background"}`)
		s.delete(definitions+"/noxus.peers.example.com", "")
	}},
	{"a definition with certificates that cannot be read", func(s *session) {
		const one = definitions + "/brokens.peers.example.com"
		s.post(definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"brokens.peers.example.com"},
			"spec":{"group":"peers.example.com","scope":"Namespaced","names":{"plural":"brokens","kind":"Broken"},
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"caBundle":"bm90IGEgY2VydGlmaWNhdGU=","service":{"namespace":"default","name":"x"}}}},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`)
		s.await(one, "InvalidCABundle")
		s.get(one)
		s.get("/apis/peers.example.com/v1/namespaces/NS/brokens")
		s.delete(one, "")
	}},
	{"a kind of two beta versions", func(s *session) {
		const one = definitions + "/twos.peers.example.com"
		const version = `{"name":"v1beta%d","served":true,"storage":%t,"subresources":{"status":{}},
			"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"of":{"type":"string","default":"v1beta%d"}}}}}`
		s.post(definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"twos.peers.example.com"},
			"spec":{"group":"peers.example.com","scope":"Namespaced","names":{"plural":"twos","kind":"Two"},"versions":[`+
			fmt.Sprintf(version, 1, false, 1)+","+fmt.Sprintf(version, 2, true, 2)+`]}}`)
		const first, second = "/apis/peers.example.com/v1beta1/namespaces/NS/twos", "/apis/peers.example.com/v1beta2/namespaces/NS/twos"
		s.await(first, "TwoList")
		s.await(second, "TwoList")
		s.post(first, `{"apiVersion":"peers.example.com/v1beta1","kind":"Two","metadata":{"name":"a"},"x":1}`)
		s.patch(mergePatch, first+"/a/status", `{"status":{"y":2}}`)
		s.patch(mergePatch, second+"/a", `{"x":3}`)
		s.get(first + "/a")
		s.get(second)
		s.delete(first+"/a", "")
		s.post(second, `{"apiVersion":"peers.example.com/v1beta2","kind":"Two","metadata":{"name":"b"}}`)
		s.delete(one, "")
	}},
}
