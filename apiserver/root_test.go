package apiserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
)

// The root lists paths, as on a real server, and something is behind each.
func TestRootListsPaths(t *testing.T) {
	server := apiserver.Start(t, apiserver.Options{})
	client := &http.Client{}
	defer client.CloseIdleConnections()
	s := &session{t: t, client: client, url: server.URL(), ns: "root", names: map[string]string{}}
	s.send("POST", definitions, s.path(definition("widgets", "Widget", widgetVersion)))
	for _, path := range []string{"/", "/index.html"} {
		code, _, text := s.send("GET", path, "")
		var root metav1.RootPaths
		if err := json.Unmarshal(text, &root); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, code, text)
		}
		for _, want := range []string{"/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/root.example.com/v1", "/version"} {
			if !slices.Contains(root.Paths, want) {
				t.Errorf("%s has no %s", path, want)
			}
		}
		for _, p := range root.Paths {
			if p == "/openapi/v3/" { // the real server lists it, too, and answers 404
				continue
			}
			if code, _, text := s.send("GET", p, "", "Accept", "*/*"); code != http.StatusOK {
				t.Errorf("%s: %d %s", p, code, text)
			}
		}
	}
}
