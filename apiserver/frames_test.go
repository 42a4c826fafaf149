package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
)

// What is too large to pass between the server and its rules is an error of one request, with a Status that says what to
// do. What follows it does so at once.
func TestRequestsTooLargeForTheRules(t *testing.T) {
	const frame = 1 << 19
	h, end, _ := apiserver.Handler(t, apiserver.Own(t, frame))
	defer end()
	send := func(method, path, body, accept string) (int, []byte) {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Host = "localhost"
		req.Header.Set("Content-Type", jsonType)
		req.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Code, w.Body.Bytes()
	}
	const maps = "/api/v1/namespaces/default/configmaps"
	short := func(n int) string { // much larger when it is indented
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf("\"%05d\":\"\"", i))
		}
		return `"data":{` + strings.Join(keys, ",") + `}`
	}
	const few, all = 4, 8
	for i := range all {
		if code, text := send("POST", maps, oddMap(fmt.Sprintf(`"name":"a%d"`, i), short(4000)), jsonType); code != http.StatusCreated {
			t.Fatalf("create: %d %.300s", code, text)
		}
	}
	const table = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for _, c := range []struct {
		method, path, accept, what string // what is too large; "" is nothing
	}{
		{"GET", maps, jsonType, ""}, // the server answers by itself
		{"GET", maps, table, "request"},
		{"GET", maps, "application/yaml", "request"},
		{"GET", maps + "?pretty=1", jsonType, "request"},
		{"GET", maps + "?limit=1", table, ""},
		{"GET", fmt.Sprint(maps, "?pretty=1&limit=", few-2), jsonType, ""},
		{"GET", fmt.Sprint(maps, "?pretty=1&limit=", few), jsonType, "answer"},
		{"DELETE", maps, jsonType, "request"},
		{"DELETE", maps + "?limit=1", jsonType, ""},
		{"GET", maps + "/a1", "application/yaml", ""},
		{"DELETE", maps + "/a1", jsonType, ""},
	} {
		code, text := send(c.method, c.path, "", c.accept)
		if c.what == "" {
			if code != http.StatusOK {
				t.Errorf("%s %s as %s: %d %.300s", c.method, c.path, c.accept, code, text)
			}
			continue
		}
		var s metav1.Status
		if c.accept == "application/yaml" {
			if !strings.Contains(string(text), "the "+c.what+" is too large") {
				t.Errorf("%s %s as %s: %d %.300s", c.method, c.path, c.accept, code, text)
			}
			continue
		}
		if err := json.Unmarshal(text, &s); err != nil || code != http.StatusInternalServerError || s.Kind != "Status" || int(s.Code) != code || s.Reason != metav1.StatusReasonInternalError ||
			!strings.Contains(s.Message, c.method+" "+c.path+": the "+c.what+" is too large: ask for fewer objects") {
			t.Errorf("%s %s as %s: %d %.300s, want a Status that says that the %s is too large", c.method, c.path, c.accept, code, text, c.what)
		}
	}
	if code, text := send("GET", maps, "", jsonType); code != http.StatusOK || strings.Count(string(text), `"name":"a`) != all-2 {
		t.Errorf("afterwards there are %d of %d objects, want %d", strings.Count(string(text), `"name":"a`), all, all-2)
	}
}
