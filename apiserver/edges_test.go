package apiserver_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// edgeCases are about HTTP: methods, paths, headers and documents.
func edgeCases() []conformanceCase {
	var cases []conformanceCase
	add := func(name string, run func(*session)) { cases = append(cases, conformanceCase{name, run}) }
	paths := []string{"/version", "/version/", "/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/readyz/ping", "/readyz?verbose", "/livez?verbose", "/readyz/nothing", "/api/v2", "/api/v1/nothing", "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/apis/apps/v1/", "/apis/apps/v9", "/apis/nothing", "/apis/nothing/v1", "/nothing", "/nothing/x", "/api/v1/namespaces/NS", "/api/v1/namespaces/NS/", "~/configmaps/", "~/configmaps/a/", "~//configmaps", "~/configmaps/none/x/y", "~/configmaps/../configmaps", "~/configmaps/%2e%2e", "~/configmaps/a%2Fb", "~/CONFIGMAPS", "/api/v1/watch/configmaps/x/y/z", "/api/v1/proxy/nodes", "/openapi/v3/apis/none/v1", "/openapi/v3/x", "/openapi/v3/", "/apis/apps/v1/deployments/none", "/apis/events.k8s.io", "/apis/apiextensions.k8s.io/v1"}
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "ODD"} {
		for i := 0; i < len(paths); i += 15 {
			add(fmt.Sprintf("%s paths from %d", method, i), func(s *session) {
				for _, path := range paths[i:min(len(paths), i+15)] {
					if method != "GET" && strings.Contains(path, "watch") || method == "DELETE" && strings.HasPrefix(path, "/api/v1/namespaces/NS") {
						continue
					}
					s.do(method, path, "")
				}
			})
		}
	}
	documents := []string{"/version", "/apis/apps", "/apis/apps/v1", "/apis/batch/v1", "/apis/none/v1"} // others have kinds that are not here
	for _, accept := range []string{"", "*/*", jsonType, yamlType, protobufType, "text/html", "nonsense", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,application/json", "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", acceptTable} {
		add("documents as "+accept, func(s *session) {
			for _, path := range documents {
				s.do("GET", path, "", "Accept", accept)
			}
		})
	}
	add("content types", func(s *session) {
		const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x-"}}`
		for _, t := range []string{"", jsonType, jsonType + "; charset=utf-8", jsonType + ";stream=watch", yamlType, "text/yaml", protobufType, "text/plain", "nonsense", "application/cbor", "*/*", mergePatch, applyPatch, "multipart/form-data"} {
			s.do("POST", "~/configmaps?dryRun=All", body, "Content-Type", t)
			s.do("PATCH", "~/configmaps/kube-root", `{}`, "Content-Type", t)
			s.do("DELETE", "~/configmaps/none", `{}`, "Content-Type", t)
		}
	})
	add("query parameters", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		for _, q := range []string{"?x=y", "?pretty", "?pretty=1", "?pretty=false", "?pretty=true", "?limit=1&limit=2", "?limit=", "?watch=false", "?watch=0", "?timeoutSeconds=1", "?timeoutSeconds=-1", "?timeout=1s", "?timeout=x", "?timeout=-1s", "?resourceVersion=", "?labelSelector=", "?fieldSelector=", "?fieldSelector=a", "?continue=", "?continue=x&resourceVersion=1", "?%zz", "?a=%zz", "?;", "?limit=9999999999999999999", "?allowWatchBookmarks=x", "?sendInitialEvents=true", "?sendInitialEvents=x", "?shardSelector=x", "?export=true", "?exact=true"} {
			s.get("~/configmaps/a" + q)
			s.get("~/configmaps" + q)
		}
		for _, q := range []string{"?fieldManager=" + strings.Repeat("x", 129), "?fieldManager=%00", "?fieldManager=ok", "?fieldValidation=x", "?dryRun=x", "?dryRun=All&dryRun=x", "?force=true", "?force=x", "?gracePeriodSeconds=1", "?propagationPolicy=x", "?orphanDependents=true", "?preconditions=x", "?timeout=1s", "?timeout=x"} {
			s.post("~/configmaps"+q, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`)
			s.put("~/configmaps/a"+q, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
			s.patch(mergePatch, "~/configmaps/a"+q, `{"data":{"x":"y"}}`)
			s.delete("~/configmaps/b"+q, "")
		}
	})
	add("large bodies", func(s *session) {
		body := func(n int) string {
			return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"` + strings.Repeat("a", n) + `"}}`
		}
		for _, n := range []int{1 << 20, 1<<20 + 1, 3<<20 - 200, 3<<20 + 1, 4 << 20} {
			s.post("~/configmaps?dryRun=All", body(n))
			s.do("POST", "~/configmaps?dryRun=All", body(n), "Content-Type", yamlType)
		}
		s.post("~/configmaps", body(1000))
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"y":"`+strings.Repeat("a", 1<<20)+`"}}`)
		s.patch(mergePatch, "~/configmaps/a", `{"data":{"y":"`+strings.Repeat("a", 3<<20)+`"}}`)
		s.put("~/configmaps/a", body(4<<20))
		s.delete("~/configmaps/a", strings.Repeat(" ", 4<<20))
		s.patch(jsonPatch, "~/configmaps/a", "["+strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, 10001)+`{"op":"test","path":"/kind","value":"ConfigMap"}]`)
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"many","annotations":{"a":"`+strings.Repeat("x", 1<<18+1)+`"}}}`)
		s.post("~/secrets", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"many"},"stringData":{"a":"`+strings.Repeat("x", 1<<20+1)+`"}}`)
		s.post("~/configmaps", strings.Repeat(`{"a":`, 20000)+"1"+strings.Repeat("}", 20000))
	})
	add("large answers", func(s *session) {
		s.post("~/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"`+strings.Repeat("a", 1<<17)+`"}}`)
		for _, path := range []string{"~/configmaps/a", "~/configmaps"} {
			resp := s.request("GET", s.path(path), "", "Accept-Encoding", "gzip")
			body := io.Reader(resp.Body)
			if resp.Header.Get("Content-Encoding") == "gzip" { // DIFFERENCES.md
				var err error
				if body, err = gzip.NewReader(resp.Body); err != nil {
					s.t.Fatal(err)
				}
			}
			text, err := io.ReadAll(body)
			if err != nil {
				s.t.Fatal(err)
			}
			resp.Body.Close()
			s.note("%s: %d\n%s", path, resp.StatusCode, s.normal(text))
		}
	})
	add("as kubectl asks", func(s *session) {
		agent := func(method, path, body string, header ...string) {
			s.do(method, path, body, append([]string{"User-Agent", "kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef", "Kubectl-Command", "kubectl apply", "Kubectl-Session", "11111111-2222-3333-4444-555555555555"}, header...)...)
		}
		agent("POST", "~/configmaps?fieldManager=kubectl-create&fieldValidation=Strict", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)
		agent("GET", "~/configmaps/a", "", "Accept", kubectlTable)
		agent("GET", "~/configmaps?limit=500", "", "Accept", kubectlTable)
		agent("GET", "/api/v1/configmaps?limit=500&fieldSelector=metadata.namespace%3DNS", "", "Accept", kubectlTable)
		agent("GET", "~/pods?limit=500&includeObject=Object", "", "Accept", kubectlTable)
		agent("PATCH", "~/configmaps/a?fieldManager=kubectl-client-side-apply&fieldValidation=Strict", `{"data":{"a":"b"}}`, "Content-Type", strategic)
		agent("PATCH", "~/configmaps/a?fieldManager=kubectl&fieldValidation=Strict&force=false", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: c}\n", "Content-Type", applyPatch)
		agent("PATCH", "~/configmaps/a?fieldManager=kubectl-label", `{"metadata":{"labels":{"x":"y"}}}`, "Content-Type", mergePatch)
		agent("PATCH", "~/configmaps/a?fieldManager=kubectl-edit", `{"metadata":{"labels":{"x":"z"}}}`, "Content-Type", strategic)
		agent("GET", "~/configmaps?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Da", "", "Accept", kubectlTable)
		agent("DELETE", "~/configmaps/a", `{"propagationPolicy":"Background"}`)
		agent("GET", "~/events?fieldSelector=involvedObject.name%3Da,involvedObject.namespace%3DNS,involvedObject.kind%3DConfigMap&limit=500", "")
	})
	add("streams of requests", func(s *session) {
		// A body whose length is not known, and one that is not there.
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+s.path("~/configmaps/a"), io.MultiReader(strings.NewReader(`{"apiVersion":"v1",`), strings.NewReader(`"kind":"ConfigMap","metadata":{"name":"a"}}`)))
			if err != nil {
				s.t.Fatal(err)
			}
			req.Header.Set("Content-Type", jsonType)
			resp, err := s.client.Do(req)
			if err != nil {
				s.t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			s.note("%s: %d %s %v", method, resp.StatusCode, s.normal(text), err)
		}
	})
	return cases
}
