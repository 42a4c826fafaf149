package apiserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
)

// Errors about maps have the same order each time, in each format of the answer. That of the real server is random.
func TestErrorsAreInOneOrder(t *testing.T) {
	handler, end, _ := apiserver.Handler(t, apiserver.Direct(t)) // nothing is remembered
	defer end()
	server := httptest.NewServer(handler)
	defer server.Close()
	bad := `{"a/b/c":"x","-":"y","b/c/d":"z","_":"v","c/d/e":"w","u-":"not valid","v":"-"}`
	quantities := `{"a/b/c":"-1","cpu":"-2","memory":"-3","x.y/z":"1500m","hugepages-3":"-4","-":"1"}`
	for path, body := range map[string]string{
		"/api/v1/namespaces/default/configmaps": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"-","labels":` + bad + `,"annotations":` + bad + `},"data":` + bad + `}`,
		"/apis/apps/v1/namespaces/default/deployments": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"selector":{"matchLabels":` + bad + `},"template":{"metadata":{"labels":` + bad +
			`},"spec":{"nodeSelector":` + bad + `,"containers":[{"name":"c","image":"i","resources":{"limits":` + quantities + `,"requests":` + quantities + `}},{"name":"c"}]}}}}`,
		"/api/v1/namespaces/default/services":                     `{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"},"spec":{"selector":` + bad + `,"ports":[{"port":0},{"port":1,"name":"A"}]}}`,
		"/api/v1/namespaces/default/resourcequotas":               `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"a"},"spec":{"hard":` + quantities + `}}`,
		"/api/v1/namespaces/default/limitranges":                  `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"a"},"spec":{"limits":[{"type":"Container","min":` + quantities + `,"max":` + quantities + `,"default":{"cpu":"1","memory":"2"}}]}}`,
		"/api/v1/nodes":                                           `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","labels":` + bad + `},"status":{"capacity":` + quantities + `,"allocatable":` + quantities + `}}`,
		"/apis/storage.k8s.io/v1/storageclasses":                  `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"a","annotations":` + bad + `},"provisioner":"-","parameters":` + bad + `}`,
		"/apis/policy/v1/namespaces/default/poddisruptionbudgets": `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"a"},"spec":{"minAvailable":-1,"selector":{"matchLabels":` + bad + `}}}`,
	} {
		for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
			var first string
			for range 25 {
				req, _ := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", accept)
				resp, err := server.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(text), "is invalid: [") {
					t.Fatalf("%s as %s: %d %s %v", path, accept, resp.StatusCode, text, err)
				}
				if first == "" {
					first = string(text)
				}
				if first != string(text) {
					t.Errorf("%s as %s:\n%s\n%s", path, accept, first, text)
					break
				}
			}
		}
	}
}

// The conflicts of an apply are in the order of the managers, in each format of the answer.
func TestConflictsAreInOneOrder(t *testing.T) {
	handler, end, _ := apiserver.Handler(t, apiserver.Direct(t)) // nothing is remembered
	defer end()
	server := httptest.NewServer(handler)
	defer server.Close()
	apply := func(manager, force, accept, data string) (int, string) {
		t.Helper()
		req, _ := http.NewRequest(http.MethodPatch, server.URL+"/api/v1/namespaces/default/configmaps/a?fieldManager="+manager+"&force="+force, strings.NewReader(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{`+data+`}}`))
		req.Header.Set("Content-Type", "application/apply-patch+yaml")
		req.Header.Set("Accept", accept)
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	for manager, data := range map[string]string{"one": `"f":"1","a":"1"`, "two": `"e":"1","b":"1"`, "three": `"d":"1","c":"1"`} {
		if code, text := apply(manager, "true", "application/json", data); code >= 300 {
			t.Fatal(text)
		}
	}
	for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"} {
		for range 25 {
			code, text := apply("four", "false", accept, `"a":"2","b":"2","c":"2","d":"2","e":"2","f":"2"`)
			var found []string
			for _, part := range strings.Split(text, ".data.")[1:] {
				found = append(found, part[:1])
			}
			if got, want := strings.Join(found, ""), "afcdbe"+"afcdbe"; code != http.StatusConflict || got != want { // in the message, and in the causes
				t.Fatalf("%d as %s: the fields are %s, want %s: %s", code, accept, got, want, text)
			}
		}
	}
}
