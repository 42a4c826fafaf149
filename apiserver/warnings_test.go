package apiserver_test

import (
	"fmt"
	"strings"
)

// warningCases are about what a server warns of: nothing twice, nothing that a header cannot have, and not too much.
var warningCases = []conformanceCase{
	{"warnings of fields with odd characters", func(s *session) {
		define(s, "widgets", "Widget", widgetVersion)
		for i, odd := range []string{`\u0000`, `\n`, `\t`, `\u007f`, `\u0085`, `\u2028`, `\"`, `\\`, "é", "😀"} {
			s.post(widgets, widget(fmt.Sprintf("w%d", i), `{"size":1,"x`+odd+`y":1,"plain":1}`))
			s.post("~/configmaps", oddMap(`"name":"`+fmt.Sprint("m", i)+`"`, `"x`+odd+`y":1`))
		}
	}},
	{"many warnings", func(s *session) {
		for _, n := range []int{13, 14, 40} {
			for _, long := range []int{200, 300, 2000} {
				var fields []string
				for i := range n {
					fields = append(fields, fmt.Sprintf(`"f%d%s":1`, i, strings.Repeat("é", long)))
				}
				s.post("~/configmaps?dryRun=All", oddMap(`"name":"m"`, strings.Join(fields, ",")))
			}
		}
	}},
	{"warnings of webhooks", func(s *session) {
		h := newHooks(s)
		long := strings.Repeat("x", 1500)
		h.on("/m", allow(`"warnings":["one","","one","two\nlines","three"]`))
		h.on("/v", allow(`"warnings":["one","`+long+`a","`+long+`b","`+long+`c","four"]`))
		h.configure("Mutating", "one", h.hook("/m", onWrites))
		s.post("~/configmaps", configMapOf("a"))
		h.configure("Validating", "two", h.hook("/v", onWrites))
		s.post("~/configmaps", configMapOf("b"))
	}},
	{"pages at version 0", func(s *session) {
		for i := range 5 {
			s.post("~/configmaps", configMapOf(fmt.Sprint("m", i)))
		}
		first := s.get("~/configmaps?limit=2").Metadata.Continue
		s.get("~/configmaps?limit=2&resourceVersion=0&continue=" + first)
		s.delete("~/configmaps/m4", "")
		s.get("~/configmaps?limit=1&resourceVersion=0&continue=" + first)
		s.get("~/configmaps?limit=1&resourceVersion=0&fieldSelector=metadata.name%3Dm3&continue=" + first)
	}},
}

// negotiatedDocuments are the paths of documents of OpenAPI.
var negotiatedDocuments = []string{"/openapi/v2", "/openapi/v2/", "/openapi/v3", "/openapi/v3/", "/openapi/v3/api/v1", "/openapi/v3/apis/none/v1"}

// formCases are about the forms of documents. Of what differs only the head is compared.
var formCases = []conformanceCase{
	{"forms of documents of OpenAPI", func(s *session) {
		for _, path := range negotiatedDocuments {
			for _, accept := range []string{"", "*/*", jsonType, yamlType, "text/plain", "nonsense", "application/*;q=0.5,text/html", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"} {
				for _, method := range []string{"GET", "HEAD", "POST"} {
					resp := s.request(method, path, "", "Accept", accept)
					resp.Body.Close()
					s.note("%s %s as %q: %d %s, tagged: %t", method, path, accept, resp.StatusCode, s.headers(resp.Header), resp.Header.Get("ETag") != "")
				}
			}
		}
	}},
}
