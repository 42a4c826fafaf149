package core

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// What permission depends on, as the real server derives it from a request.
func TestAttributes(t *testing.T) {
	const ns = "/api/v1/namespaces/a"
	for _, c := range []struct{ method, url, want string }{
		{"GET", "/", `get path "/"`},
		{"GET", "/api/v1", `get path "/api/v1"`},
		{"POST", "/apis/apps/v1?x=y", `post path "/apis/apps/v1"`},
		{"HEAD", "/a%2fb", `head path "/a/b"`},
		{"GET", ns + "/pods", "list /pods// in a"},
		{"GET", ns + "/pods?watch=1", "watch /pods// in a"},
		{"GET", ns + "/pods?watch=False", "list /pods// in a"},
		{"GET", ns + "/pods?fieldSelector=metadata.name%3Dx", "list /pods/x/ in a"},
		{"GET", ns + "/pods?fieldSelector=metadata.name%21%3Dx", "list /pods// in a"},
		{"GET", ns + "/pods/x?watch=1", "get /pods/x/ in a"},
		{"HEAD", ns + "/pods/x", "get /pods/x/ in a"},
		{"POST", ns + "/pods/x/eviction", "create /pods/x/eviction in a"},
		{"PUT", "/apis/apps/v1/namespaces/a/deployments/x/scale", "update apps/deployments/x/scale in a"},
		{"PATCH", ns + "/pods/x", "patch /pods/x/ in a"},
		{"DELETE", ns + "/pods/x", "delete /pods/x/ in a"},
		{"DELETE", ns + "/pods", "deletecollection /pods// in a"},
		{"OPTIONS", ns + "/pods", " /pods// in a"},
		{"GET", ns, "get /namespaces/a/ in a"},
		{"PUT", ns + "/finalize", "update /namespaces/a/finalize in a"},
		{"GET", "/api/v1/namespaces", "list /namespaces// in "},
		{"GET", "/api/v1/nodes/n", "get /nodes/n/ in "},
		{"GET", "/api/v1/watch/pods", "watch /pods// in "},
		{"GET", "/api/v1/watch/namespaces/a/pods/x", "watch /pods/x/ in a"},
		{"POST", "/api/v1/proxy/namespaces/a/pods/x/y", "proxy /pods/x/ in a"},
		{"GET", "/api/v1/watch", `get path "/api/v1/watch"`},
		{"get", ns + "/pods", " /pods// in a"},
		{"RESTORE", ns + "/pods/x", " /pods/x/ in a"},
		{"GET", ns + "/status/x", "get /namespaces/a/status in a"},
		{"GET", "//x" + ns + "/pods", `get path "//x/api/v1/namespaces/a/pods"`},
		{"GET", ns + "/pods?watch=1&x=%zz", "watch /pods// in a"},
		{"GET", ns + "/pods?fieldSelector=metadata.name%3Dx%2Fy", "list /pods// in a"},
	} {
		a := Request{Method: c.method, URL: c.url}.attributes()
		got := fmt.Sprintf("%s %s/%s/%s/%s in %s", a.verb, a.group, a.resource, a.name, a.subresource, a.namespace)
		if a.resource == "" {
			got = fmt.Sprintf("%s path %q", a.verb, a.path)
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.url, got, c.want)
		}
	}
}

// A question is asked once for all names, and again when roles have changed or the state was restored.
func TestDecisionsAreRemembered(t *testing.T) {
	asked := 0
	allowed := true
	guarded := func(req *rules.Request) (*rules.Answer, error) {
		if !strings.HasPrefix(req.URL, "/apis/authorization.k8s.io/") {
			return toy(req)
		}
		asked++
		var review authorizationv1.SubjectAccessReview
		if err := json.Unmarshal(req.Body, &review); err != nil {
			return nil, err
		}
		review.Status.Allowed = allowed && review.Spec.ResourceAttributes.Verb == "get"
		body, err := json.Marshal(review)
		return &rules.Answer{Code: http.StatusCreated, Body: body}, err
	}
	s := New(Options{Rules: guarded, RBAC: true})
	do := func(user, method, path string) int {
		return s.Step(time.Unix(0, 0), Request{Method: method, URL: path, User: user}).Code
	}
	check := func(what string, code, wantCode, wantAsked int) {
		t.Helper()
		if code != wantCode || asked != wantAsked {
			t.Errorf("%s: %d after %d questions, want %d after %d", what, code, asked, wantCode, wantAsked)
		}
	}
	check("the first", do("eve", "GET", "/api/v1/toys/a"), 404, 1)
	check("another name", do("eve", "GET", "/api/v1/toys/b"), 404, 1)
	check("another user", do("bob", "GET", "/api/v1/toys/b"), 404, 2)
	check("refused, for all names and for this one", do("eve", "DELETE", "/api/v1/toys/a"), 403, 4)
	check("refused again", do("eve", "DELETE", "/api/v1/toys/a"), 403, 4)
	before := s.Snapshot()
	allowed = false
	s.apply(time.Unix(0, 0), []rules.Write{{Key: roleKeys + "roles/a/b", Version: s.version + 1, Object: json.RawMessage("{}")}})
	check("roles have changed", do("eve", "GET", "/api/v1/toys/a"), 403, 6)
	allowed = true
	s.Restore(before)
	check("restored", do("eve", "GET", "/api/v1/toys/a"), 404, 7)
	if code := s.Step(time.Unix(0, 0), Request{Method: "DELETE", URL: "/api/v1/toys/a", User: "root", Groups: []string{masters}}).Code; code == 403 || asked != 7 {
		t.Errorf("an administrator gets %d after %d questions", code, asked)
	}
}

// Several requests may share their groups: a decision only reads them.
func TestDecisionsLeaveGroupsAlone(t *testing.T) {
	answering := func(*rules.Request) (*rules.Answer, error) {
		return &rules.Answer{Code: http.StatusCreated, Body: []byte(`{"spec":{"groups":["other"]},"status":{"allowed":true}}`)}, nil
	}
	s := New(Options{Rules: answering, RBAC: true})
	groups := []string{"readers"}
	if refused := s.View.Authorize(time.Unix(0, 0), Request{Method: "GET", URL: "/api/v1/toys", User: "eve", Groups: groups}); refused != nil {
		t.Fatalf("%+v", refused)
	}
	if groups[0] != "readers" {
		t.Errorf("the groups are %q now", groups)
	}
}
