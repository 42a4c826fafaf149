package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
)

// Cached objects, in protobuf or as metadata, equal the answers of rules. A request with the parameter pretty is always
// answered by rules.
func TestRememberedFormsAreThoseOfRules(t *testing.T) {
	t.Parallel() // it mostly waits for the rules
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

// The answer to a Binding, or to the delete of a collection, is not what the object looks like.
func TestAnswersToOtherWritesAreNoForms(t *testing.T) {
	const proto = "application/vnd.kubernetes.protobuf"
	server := apiserver.Start(t, apiserver.Options{})
	client := &http.Client{}
	defer client.CloseIdleConnections()
	s := &session{t: t, client: client, url: server.URL(), ns: "default", names: map[string]string{}}
	s.send("POST", s.path("~/pods"), `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},`+podBody+`}`)
	s.send("POST", s.path("~/configmaps"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","finalizers":["a.b/c"]}}`)
	for _, write := range []struct{ method, path, body, object, has string }{
		{"POST", "~/bindings", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"node-of-p"}}`, "~/pods/p", "node-of-p"},
		{"DELETE", "~/configmaps", "", "~/configmaps/c", "\x12\x09ConfigMap"},
	} {
		if code, _, text := s.send(write.method, s.path(write.path), write.body, "Accept", proto); code/100 != 2 {
			t.Fatalf("%s %s: %d %s", write.method, write.path, code, text)
		}
		code, _, got := s.send("GET", s.path(write.object), "", "Accept", proto)
		_, _, want := s.send("GET", s.path(write.object)+"?pretty=false", "", "Accept", proto) // rules answer
		if code != http.StatusOK || string(got) != string(want) || !strings.Contains(string(got), write.has) {
			t.Errorf("after %s %s: %d %q, want %q", write.method, write.path, code, got, want)
		}
	}
}
