package apiserver_test

import (
	"fmt"
	"strings"
)

// oddCases are what no client should send, and what few do.
func oddCases() []conformanceCase {
	var cases []conformanceCase
	add := func(name string, run func(*session)) { cases = append(cases, conformanceCase{name, run}) }
	// each makes a case of some of a list of texts.
	each := func(what string, texts []string, size int, run func(s *session, text string)) {
		for i := 0; i < len(texts); i += size {
			add(fmt.Sprintf("%s from %d", what, i), func(s *session) {
				s.post("~/configmaps", oddMap(`"name":"a"`, `"data":{"k":"v"}`))
				for _, text := range texts[i:min(len(texts), i+size)] {
					run(s, text)
				}
			})
		}
	}
	each("odd bodies", oddBodies, 4, func(s *session, body string) {
		s.post("~/configmaps", body)
		s.post("~/configmaps?fieldValidation=Strict", body)
		s.put("~/configmaps/a?fieldValidation=Ignore", body)
		s.patch(mergePatch, "~/configmaps/a?fieldValidation=Strict", body)
		s.patch(strategic, "~/configmaps/a", body)
		s.patch(jsonPatch, "~/configmaps/a", body)
		s.patch(applyPatch, "~/configmaps/new?fieldManager=f&force=true", body)
	})
	each("odd YAML", oddYAML, 4, func(s *session, body string) {
		for _, query := range []string{"?", "?fieldValidation=Strict&", "?fieldValidation=Ignore&"} {
			s.do("POST", "~/configmaps"+query, body, "Content-Type", yamlType)
			s.patch(applyPatch, "~/configmaps/y"+query+"fieldManager=f&force=true", body)
		}
	})
	each("odd protobuf", oddProtobuf, 3, func(s *session, body string) {
		for _, accept := range []string{jsonType, protobufType} {
			for _, to := range []string{"POST ~/configmaps", "PUT ~/configmaps/a", "DELETE ~/configmaps/none"} {
				method, path, _ := strings.Cut(to, " ")
				resp := s.request(method, s.path(path), body, "Content-Type", protobufType, "Accept", accept)
				resp.Body.Close()
				s.note("%s %q: %d %s", to, body, resp.StatusCode, resp.Header.Get("Content-Type"))
			}
		}
	})
	each("odd options of a delete", oddDeletes, 6, func(s *session, body string) {
		s.send("POST", s.path("~/configmaps"), oddMap(`"name":"q"`, `"data":{}`))
		s.delete("~/configmaps/q", body)
		s.delete("~/configmaps?labelSelector=none", body)
		s.do("DELETE", "~/configmaps/q", body, "Content-Type", yamlType)
	})
	each("odd queries of reads", oddReads, 8, func(s *session, query string) {
		s.get("~/configmaps?" + query)
		s.get("~/configmaps/a?" + query)
		s.get("~/events/none?" + query)
		if !strings.Contains(query, "watch") {
			s.delete("~/secrets?"+query, "")
		}
	})
	each("odd queries of writes", oddWrites, 5, func(s *session, query string) {
		s.post("~/configmaps?"+query, oddMap(`"name":"q"`, `"odd":1`))
		s.put("~/configmaps/a?"+query, oddMap(`"name":"a"`, `"odd":1`))
		s.patch(mergePatch, "~/configmaps/a?"+query, `{"data":{"k":"w"},"odd":1}`)
		s.patch(applyPatch, "~/configmaps/a?"+query, oddMap(`"name":"a"`, `"data":{"m":"w"}`))
		s.delete("~/configmaps/q?"+query, "")
	})
	each("odd accepts", oddAccepts, 4, func(s *session, accept string) {
		for _, path := range []string{"~/configmaps", "~/configmaps/a", "~/configmaps/none", "/version"} {
			resp := s.request("GET", s.path(path), "", "Accept", accept)
			resp.Body.Close()
			s.note("GET %s as %q: %d %s", path, accept, resp.StatusCode, s.headers(resp.Header))
		}
		s.do("DELETE", "~/configmaps/none", "", "Accept", accept)
	})
	each("odd content types", oddTypes, 4, func(s *session, of string) {
		for _, path := range []string{"~/configmaps/a", "~/configmaps", "/api/v1/namespaces/NS/status", "/api/v1/namespaces/NS/finalize", "/apis/apps/v1/namespaces/NS/deployments/none/scale", definitions + "/none"} {
			s.do("PATCH", path, `{}`, "Content-Type", of)
			s.do("PATCH", path, `[]`, "Content-Type", of)
		}
		s.do("POST", "~/configmaps?dryRun=All", oddMap(`"name":"t"`, `"data":{}`), "Content-Type", of)
	})
	each("odd paths", oddPaths, 8, func(s *session, path string) {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			s.do(method, path, "")
		}
	})
	return append(cases, connectCases()...)
}

// oddMap is a body, of some of the metadata and another field.
func oddMap(metadata, rest string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{` + metadata + `},` + rest + `}`
}

// withMetadata and withField are a ConfigMap with more metadata, and with other fields.
func withMetadata(more string) string { return oddMap(`"name":"b",`+more, `"data":{}`) }
func withField(field string) string   { return oddMap(`"name":"b"`, field) }

var oddBodies = []string{
	"", "null", "[]", `""`, "1", "{}", `{"apiVersion":"v1"}`, `{"kind":"ConfigMap"}`, `{"apiVersion":"v1","kind":"ConfigMap"}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":null}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}`, oddMap(`"name":1`, `"data":{}`), oddMap(`"name":null`, `"data":{}`),
	`{"apiVersion":1,"kind":"ConfigMap"}`, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"b"}}`, `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"b"}}`, `{"apiVersion":"a/b/c","kind":"ConfigMap","metadata":{"name":"b"}}`,
	`{"APIVersion":"v1","Kind":"ConfigMap","metadata":{"name":"b"}}`, `{"apiVersion":"v1","kind":"configmap","metadata":{"name":"b"}}`, `{"apiVersion":"v1","kind":"ConfigMapList","items":[]}`, `{"apiVersion":"v1","kind":"List","items":[]}`,
	oddMap(`"name":"b","name":"c"`, `"data":{}`), `{"apiVersion":"v1","kind":"ConfigMap","kind":"ConfigMap","metadata":{"name":"b"}}`, withField(`"data":{"a":"1","a":"2"}`), withField(`"data":{"a":1}`), withField(`"data":{"a":null}`),
	withField(`"data":{"":"x"}`), withField(`"data":{"..":"x"}`), withField(`"data":{"a":NaN}`), withField(`"data":{"a":1e999}`), withField(`"binaryData":{"a":"???"}`), withField(`"data":{"a":"x"},"binaryData":{"a":"eA=="}`), withField(`"immutable":"true"`),
	withField(`"data":{}`) + " trailing", withField(`"data":{}`) + `{"x":1}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},}`, `{"apiVersion":"v1","kind":"ConfigMap"`, "\ufeff" + withField(`"data":{}`), "// c\n" + withField(`"data":{}`),
	withField(`"data":{"k":"\u0000\ud800 é 😀"}`), withMetadata(`"annotations":{"k":"<&>\u2028"}`), withMetadata(`"labels":{"k":1}`), withMetadata(`"creationTimestamp":"x"`),
	withMetadata(`"creationTimestamp":"2020-01-01T00:00:00Z","uid":"mine","generation":5,"selfLink":"x","deletionTimestamp":"2020-01-01T00:00:00Z","deletionGracePeriodSeconds":5`), withMetadata(`"resourceVersion":"5"`), withMetadata(`"resourceVersion":"x"`), withMetadata(`"resourceVersion":"0"`),
	withMetadata(`"namespace":"other"`), withMetadata(`"generateName":"g-"`), withMetadata(`"managedFields":[{"manager":"x"}]`), withMetadata(`"managedFields":[{}]`), withMetadata(`"managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]`),
	withMetadata(`"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"","uid":""}]`), withMetadata(`"ownerReferences":[{"apiVersion":"v1","kind":"Event","name":"x","uid":"y"}]`), withMetadata(`"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y","blockOwnerDeletion":true},{"apiVersion":"v1","kind":"Pod","name":"x","uid":"y"}]`),
	withMetadata(`"finalizers":["a","a/b","orphan","foregroundDeletion",""]`), withMetadata(`"finalizers":["a.b/c","a.b/c"]`), oddMap(`"name":"a/b"`, `"data":{}`), oddMap(`"name":"a%2Fb"`, `"data":{}`), oddMap(`"name":".."`, `"data":{}`), oddMap(`"name":" b"`, `"data":{}`),
	oddMap(`"name":"`+strings.Repeat("n", 254)+`"`, `"data":{}`), strings.Repeat(`{"x":`, 200) + "1" + strings.Repeat("}", 200), strings.Repeat("[", 10001),
}

var oddYAML = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: x, a: y}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n---\napiVersion: v1\n", "a: &x [1]\nb: *x\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: yes, b: 1}\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: \"\\x41\"}\n", "\t", "%YAML 1.1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: !!binary abc\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {? [a] : b}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  <<: {name: y}\n", "x: " + strings.Repeat("[", 200), "# nothing\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\nodd: 1\n", "2026-01-01: x\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 012}\n",
	"a: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: &d [*c,*c,*c]\ne: &e [*d,*d,*d]\nf: &f [*e,*e,*e]\ng: [*f,*f,*f,*f]\n",
}

var oddProtobuf = []string{
	"k8s\x00", "k8s\x00\xff", "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x00\x1a\x00\"\x00", "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\x03\n\x01p\x1a\x00\"\x00",
	"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\xff\xff\xff\xff\x0f", "k8s\x00\n\x08\n\x02v1\x12\x02No\x12\x00", "k8s\x01x", "\x00\x00\x00\x00", "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\x03\n\x01p\x1a\x04gzip\"\x00",
}

var oddDeletes = []string{
	"{}", "null", "[]", `"x"`, "1", `{"kind":"DeleteOptions"}`, `{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1"}`, `{"kind":"DeleteOptions","apiVersion":"apps/v1"}`, `{"kind":"DeleteOptions","apiVersion":"none/v1"}`, `{"kind":"ConfigMap","apiVersion":"v1"}`,
	`{"kind":"DeleteOptions","apiVersion":"v1","odd":1}`, `{"preconditions":{"uid":"x"}}`, `{"preconditions":{"resourceVersion":"1"}}`, `{"preconditions":{"uid":""}}`, `{"preconditions":{}}`, `{"gracePeriodSeconds":"1"}`, `{"gracePeriodSeconds":-1}`, `{"gracePeriodSeconds":1.5}`,
	`{"propagationPolicy":"Odd"}`, `{"propagationPolicy":null}`, `{"orphanDependents":true}`, `{"orphanDependents":true,"propagationPolicy":"Background"}`, `{"dryRun":["Foo"]}`, `{"dryRun":"All"}`, `{"dryRun":["All","All"]}`,
	"kind: DeleteOptions\napiVersion: v1\n", `{"a":1,"a":2}`, `{"gracePeriodSeconds":1,"gracePeriodSeconds":2}`, "{", `{"ignoreStoreReadErrorWithClusterBreakingPotential":true}`, `{"ignoreStoreReadErrorWithClusterBreakingPotential":true,"gracePeriodSeconds":1}`,
}

var oddReads = []string{
	"limit=-1", "limit=1.5", "limit=x", "limit=%31", "limit=+1", "limit=1&continue=", "continue=x", "continue=e30", "continue=%20", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6MSwic3RhcnQiOiJhIn0", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi94In0",
	"resourceVersion=x", "resourceVersion=-1", "resourceVersion=0", "resourceVersion=00", "resourceVersion=1e3", "resourceVersion=18446744073709551616", "resourceVersion=%200", "resourceVersion=0&resourceVersion=x", "resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Odd&resourceVersion=1", "resourceVersion=0&resourceVersionMatch=NotOlderThan&continue=x",
	"labelSelector=%3D", "labelSelector=a%3D%3Db", "labelSelector=a%3Db%2C", "labelSelector=!", "labelSelector=a%20notin%20(b%2C)", "labelSelector=a%3E1", "labelSelector=a%3Ex", "labelSelector=" + strings.Repeat("a", 64), "labelSelector=x%2Fy%2Fz", "labelSelector=a&labelSelector=b",
	"fieldSelector=metadata.name", "fieldSelector=metadata.name%3Da%2Cmetadata.name%3Db", "fieldSelector=metadata.name!%3Da", "fieldSelector=metadata.namespace%3Dother", "fieldSelector=metadata.uid%3Dx", "fieldSelector=%3D", "fieldSelector=metadata.name%3D%5C", "fieldSelector=data.k%3Dv",
	"watch=1&resourceVersion=x", "watch=1&resourceVersion=-1", "watch=1&timeoutSeconds=1&resourceVersionMatch=Exact&resourceVersion=1", "watch=1&sendInitialEvents=true", "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", "watch=1&fieldSelector=x%3Dy", "WATCH=true", "Limit=1", "timeoutSeconds=x", "includeObject=Metadata", "kind=Pod", "apiVersion=v9", "x[]=1", "%", "a=%", "=", "&&",
}

var oddWrites = []string{
	"fieldManager=", "fieldManager=" + strings.Repeat("x", 128), "fieldManager=" + strings.Repeat("x", 129), "fieldManager=%0a", "fieldManager=%E2%82%AC", "fieldManager=" + strings.Repeat("%E2%82%AC", 128), "dryRun=", "dryRun=all", "dryRun=All&dryRun=All", "fieldValidation=", "fieldValidation=strict", "fieldValidation=Strict&fieldValidation=Ignore", "force=true", "force=1",
	"timeout=0", "timeout=1", "timeout=5m", "timeout=61m", "resourceVersion=1", "gracePeriodSeconds=x", "propagationPolicy=", "propagationPolicy=Odd", "orphanDependents=true&propagationPolicy=Orphan", "orphanDependents=x", "gracePeriodSeconds=-1", "gracePeriodSeconds=99999999999", "preconditions.uid=x", "ignoreStoreReadErrorWithClusterBreakingPotential=true", "ignoreStoreReadErrorWithClusterBreakingPotential=x",
}

var oddAccepts = []string{
	"application/json;q=0.1,application/yaml;q=0.9", "application/yaml,application/json", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/*", "*/*;q=0", "application/json;q=0", "text/*", "application/json;as=Table;g=meta.k8s.io;v=v1beta1", "application/json;as=Table;g=meta.k8s.io;v=v2", "application/json;as=Table;v=v1",
	"application/json;as=Odd;g=meta.k8s.io;v=v1", "application/json;as=Odd;g=meta.k8s.io;v=v1,application/json", "application/yaml;as=Table;g=meta.k8s.io;v=v1", "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
	"application/json;stream=watch", "application/json;pretty=1", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json,", "application/cbor", "application/cbor-seq", "application/apply-patch+yaml", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", ";", "application/json;as=Table", "application/json;export=1", "application/json;v=v1",
}

var oddTypes = []string{
	"application/json;charset=x", jsonPatch, strategic, mergePatch, applyPatch, "application/apply-patch+cbor", "application/apply-patch+json", "application/merge-patch+json; charset=utf-8", "application/merge-patch+yaml", "text/plain", yamlType, "*/*", protobufType,
}

var oddPaths = []string{
	"//api/v1", "~/configmaps/a;x", "~/configmaps/a%00", "~/configmaps/%C3%A9", "~/configmaps/" + strings.Repeat("x", 300), "/api/v1/namespaces/" + strings.Repeat("x", 300) + "/configmaps", "/api/v1/namespaces/NOT_VALID/configmaps", "/api/v1/namespaces/none/status",
	"/api/v1/configmaps/a", "~/pods/x/binding", "~/pods/x/eviction", "/api/v1/bindings", "/apis/apps/v1beta1/deployments", "/apis/extensions/v1beta1/ingresses", "/logs", "/ui",
	"/swagger.json", "/swaggerapi", "/openapi", "/favicon.ico", "/robots.txt", "/healthz/", "/livez/", "/readyz/", "/healthz?exclude=ping", "/readyz?exclude=none", "/readyz?exclude=ping&verbose", "/livez?verbose&exclude=none&exclude=also", "/livez?verbose=false",
	"/version?x=y", "/version/x", "/apis/apps/v1/namespaces/NS/deployments/x/rollback", "/apis/batch/v1/namespaces/NS/jobs/x/scale", "/apis/metrics.k8s.io", "/apis/metrics.k8s.io/v1beta1/nodes", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", "/api/v1/persistentvolumes/x/status", "/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval", "/apis/autoscaling/v1/namespaces/NS/horizontalpodautoscalers/x/scale", "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions",
}
