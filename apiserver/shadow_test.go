package apiserver_test

import (
	"fmt"
	"strings"
)

// shadowCases are about definitions in groups of Kubernetes itself.
var shadowCases = []conformanceCase{
	{"a definition in a group of Kubernetes", func(s *session) {
		for n, versions := range [][]string{{"v1"}, {"v9"}, {"v1", "v9"}} {
			name := definitions + "/shadows.networking.k8s.io"
			var all string
			for i, v := range versions {
				all += fmt.Sprintf(`,{"name":%q,"served":true,"storage":%t,"schema":{"openAPIV3Schema":{"type":"object"}}}`, v, i == 0)
			}
			s.post(definitions, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"shadows.networking.k8s.io","annotations":{"api-approved.kubernetes.io":"unapproved, a test"}},
				"spec":{"group":"networking.k8s.io","scope":"Namespaced","names":{"plural":"shadows","kind":"Shadow"},"versions":[`+all[1:]+`]}}`)
			s.await(name, "InitialNamesAccepted")
			// What comes after it is known when this is.
			next := []string{"Anchor", "Bolt", "Chain"}[n]
			define(s, strings.ToLower(next)+"s", next, widgetVersion)
			s.get("/apis/networking.k8s.io")
			s.discover("/apis", "", nil)
			s.discover("/apis", acceptAll, nil)
			for _, v := range versions { // the real server needs some time for it
				s.await("/openapi/v3", `"apis/networking.k8s.io/`+v+`"`)
			}
			for _, v := range []string{"v1", "v9"} {
				s.get("/openapi/v3/apis/networking.k8s.io/" + v)
				s.get(apiServices + "/" + v + ".networking.k8s.io")
				s.get("/apis/networking.k8s.io/" + v)
				s.get("/apis/networking.k8s.io/" + v + "/shadows")
				s.post("/apis/networking.k8s.io/"+v+"/namespaces/NS/shadows", `{"apiVersion":"networking.k8s.io/`+v+`","kind":"Shadow","metadata":{"name":"a"}}`)
				s.get("/apis/networking.k8s.io/" + v + "/namespaces/NS/shadows/a")
				s.get("/apis/networking.k8s.io/" + v + "/namespaces/NS/networkpolicies")
			}
			s.discard(name)
			s.await(name, "NotFound")
			s.get(apiServices + "/v1.networking.k8s.io")
		}
	}},
}
