package core

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// beside answers requests that do not depend on the objects: for the list of paths, for the OpenAPI v2 document, which
// only old programs read, and for logs of containers, which never run.
func (v View) beside(now time.Time, req Request, t target) (Answer, bool) {
	path, _, _ := strings.Cut(req.URL, "?")
	switch {
	case path == "/" || path == "/index.html":
		return v.paths(now, req), true
	case path == "/openapi/v2":
		return openAPIv2(req.Accept), true
	case t.group == "" && t.resource == "pods" && t.subresource == "log":
		return v.logs(now, req, t), true
	}
	return Answer{}, false
}

// paths answers with the paths that begin all others. Some programs ask for them to see whether a server is there.
func (v View) paths(now time.Time, req Request) Answer {
	get := req
	get.URL, get.Accept = "/apis", contentJSON
	answer := v.Read(now, get)
	var groups metav1.APIGroupList
	if answer.Code != http.StatusOK {
		return answer
	} else if err := json.Unmarshal(answer.Body, &groups); err != nil {
		return failed(req, err)
	}
	all := []string{"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}
	for _, g := range groups.Groups {
		all = append(all, "/apis/"+g.Name)
		for _, version := range g.Versions {
			all = append(all, "/apis/"+version.GroupVersion)
		}
	}
	slices.Sort(all)
	body, err := json.MarshalIndent(metav1.RootPaths{Paths: all}, "", "  ")
	if err != nil {
		return failed(req, err)
	}
	return Answer{Code: http.StatusOK, ContentType: contentJSON, Body: body}
}

// openAPIv2 answers with a document without definitions. Programs that read it leave validation to the server then.
// /openapi/v3 has the definitions.
func openAPIv2(accept string) Answer {
	if strings.Contains(accept, "protobuf") {
		return Answer{Code: http.StatusOK, ContentType: "application/octet-stream", Body: []byte("\x0a\x032.0")} // field 1: swagger
	}
	return Answer{Code: http.StatusOK, ContentType: "application/json", Body: []byte(`{"swagger":"2.0","info":{"title":"Kubernetes","version":"unversioned"},"paths":{},"definitions":{}}` + "\n")}
}

// logs answers a request for the log of a Pod: with an empty log while the Pod has no node, then with NotFound.
func (v View) logs(now time.Time, req Request, t target) Answer {
	o := v.get(t.key())
	if o == nil {
		get := req
		get.URL, get.Accept = strings.TrimSuffix(strings.SplitN(req.URL, "?", 2)[0], "/log"), contentJSON
		return v.Read(now, get)
	}
	var pod struct{ Spec struct{ NodeName string } }
	if err := json.Unmarshal(o.JSON, &pod); err == nil && pod.Spec.NodeName == "" {
		return Answer{Code: http.StatusOK, ContentType: "text/plain"}
	}
	return req.Refuse(&metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		Message: fmt.Sprintf("the containers of pod %s do not run: this API server is in memory, and there are no logs", t.name),
	})
}
