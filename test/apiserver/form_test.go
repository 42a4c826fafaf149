package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/test/apiserver"
)

// Cached objects, in protobuf or as metadata, equal the answers of rules. A request with the parameter pretty is always
// answered by rules.
func TestRememberedFormsAreThoseOfRules(t *testing.T) {
	const proto, partial = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	server := apiserver.Start(t, apiserver.Options{})
	client := &http.Client{}
	defer client.CloseIdleConnections()
	s := &session{t: t, client: client, url: server.URL(), ns: "ns", names: map[string]string{}}
	s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"ns"}}`)
	for _, k := range kinds {
		apiVersion, kind, _ := strings.Cut(k.kind, " ")
		path := s.path(k.path)
		compare := func(when, path string) {
			t.Helper()
			for _, accept := range []string{proto, proto + ",application/json", partial} {
				for range 2 { // what the first one found is remembered
					code, warnings, got := s.send("GET", path, "", "Accept", accept)
					again := "?pretty=false"
					if strings.Contains(path, "?") {
						again = "&pretty=false"
					}
					wantCode, wantWarnings, want := s.send("GET", path+again, "", "Accept", accept)
					if code != wantCode || fmt.Sprint(warnings) != fmt.Sprint(wantWarnings) || string(got) != string(want) {
						t.Errorf("%s: %s as %s:\ngot  %d %q %q\nwant %d %q %q", when, path, accept, code, warnings, got, wantCode, wantWarnings, want)
					}
				}
			}
		}
		for _, name := range []string{"one", "two", "three"} {
			body := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},%s}`, apiVersion, kind, name, strings.ReplaceAll(k.rest, "NS", s.ns))
			code, _, _ := s.send("POST", path, body, "Accept", proto+",application/json")
			if code != http.StatusCreated {
				continue // some kinds take no such names
			}
			compare("created", path+"/"+name)
			s.send("PATCH", path+"/"+name, `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", mergePatch, "Accept", proto)
			compare("changed", path+"/"+name)
			compare("listed", path)
		}
		compare("paged", path+"?limit=2")
		compare("chosen", path+"?labelSelector=a%3Db")
	}
}
