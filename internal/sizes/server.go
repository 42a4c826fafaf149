package sizes

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/wire"
)

// Config starts a server of the objects, and returns a client configuration for it. Answers come in pieces.
func (c *Case) Config(t testing.TB) *rest.Config {
	srv := httptest.NewServer(c)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return &rest.Config{Host: srv.URL, WrapTransport: c.InPieces, QPS: -1}
}

// ServeHTTP answers as an API server: discovery, lists and their pages, watches, streaming lists, and single objects.
func (c *Case) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if doc := documents[r.URL.Path]; doc != nil {
		reply(w, http.StatusOK, doc)
		return
	}
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/apis/example.com/v1/")
	path = strings.TrimPrefix(path, "namespaces/"+Namespace+"/")
	resource, name, _ := strings.Cut(path, "/")
	q := r.URL.Query()
	switch {
	case resource != plural(c.GVK.Kind) && (resource == plural(configMaps.Kind) || resource == plural(Things.Kind)):
		other := Case{GVK: configMaps, Encoding: wire.JSON}
		if c.GVK == configMaps {
			other.GVK = Things
		}
		other.answer(w, r, q.Get("watch"), "")
	case resource != plural(c.GVK.Kind):
		reply(w, http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound))
	case q.Get("sendInitialEvents") == "true" && !c.Streaming:
		reply(w, http.StatusUnprocessableEntity, failure(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid))
	default:
		c.answer(w, r, q.Get("watch"), name)
	}
}

func (c *Case) answer(w http.ResponseWriter, r *http.Request, watch, name string) {
	c, q := c.accepted(r), r.URL.Query()
	switch {
	case watch == "true" || watch == "1":
		w.Header().Set("Content-Type", c.ContentType()+";stream=watch")
		w.WriteHeader(http.StatusOK)
		w.Write(c.Watch(q.Get("sendInitialEvents") == "true"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case name == "":
		from, _ := strconv.Atoi(q.Get("continue"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		end, next := len(c.First), ""
		if limit > 0 && from+limit < end {
			end = from + limit
			next = strconv.Itoa(end)
		}
		c.write(w, r, c.List(c.First[from:end], next))
	default:
		for _, o := range c.Last() {
			if o.GetName() == name {
				c.write(w, r, c.Object(o))
				return
			}
		}
		reply(w, http.StatusNotFound, failure(http.StatusNotFound, metav1.StatusReasonNotFound))
	}
}

// accepted returns the case in JSON if the client takes nothing else.
func (c *Case) accepted(r *http.Request) *Case {
	if strings.Contains(r.Header.Get("Accept"), wire.ContentTypeProtobuf) {
		return c
	}
	plain := *c
	plain.Encoding = wire.JSON
	return &plain
}

func (c *Case) write(w http.ResponseWriter, r *http.Request, b []byte) {
	w.Header().Set("Content-Type", c.ContentType())
	if !c.Gzip || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Write(b)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
	zip.Write(b)
	zip.Close()
}

func plural(kind string) string { return strings.ToLower(kind) + "s" }

// documents are those of discovery, by path.
var documents = map[string]any{
	"/version":             version.Info{Major: "1", Minor: "36", GitVersion: "v1.36.0"},
	"/api":                 metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
	"/apis":                groups(Things.Group),
	"/api/v1":              resources("v1", configMaps.Kind),
	"/apis/example.com/v1": resources("example.com/v1", Things.Kind),
}

func groups(name string) metav1.APIGroupList {
	v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
	return metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
		Groups: []metav1.APIGroup{{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}}}
}

func resources(gv, kind string) metav1.APIResourceList {
	return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv,
		APIResources: []metav1.APIResource{{Name: plural(kind), Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}}}}
}

func failure(code int, reason metav1.StatusReason) metav1.Status {
	return metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason}
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", wire.ContentTypeJSON)
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}
