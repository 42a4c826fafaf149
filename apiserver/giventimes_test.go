package apiserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
)

// givenFields are managed fields of a ConfigMap with times of the client. By their times they are in another order than
// by their managers.
const givenFields = `"managedFields":[
	{"manager":"z","operation":"Apply","apiVersion":"v1","time":"2022-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}},
	{"manager":"y","operation":"Apply","apiVersion":"v1","time":"2022-01-02T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}}},
	{"manager":"x","operation":"Apply","apiVersion":"v1","time":"2999-01-03T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:c":{}}}}]`

// givenTimeCases write managed fields themselves, as a tool does that restores objects or moves fields to another manager.
// Their times decide about the order.
var givenTimeCases = []conformanceCase{
	{"managed fields of the client", func(s *session) {
		s.post("~/configmaps", oddMap(`"name":"created",`+givenFields, `"data":{"a":"1","b":"1","c":"1"}`))
		s.post("~/configmaps", oddMap(`"name":"patched"`, `"data":{"a":"1","b":"1","c":"1"}`))
		s.patch(mergePatch, "~/configmaps/patched", `{"metadata":{`+givenFields+`}}`)
		for _, name := range []string{"created", "patched"} {
			s.patch(applyPatch, "~/configmaps/"+name+"?fieldManager=x", oddMap(`"name":"`+name+`"`, `"data":{"c":"1"}`))
			s.patch(applyPatch, "~/configmaps/"+name+"?fieldManager=y", oddMap(`"name":"`+name+`"`, `"data":{"b":"2"}`))
			s.patch(applyPatch, "~/configmaps/"+name+"?fieldManager=w", oddMap(`"name":"`+name+`"`, `"data":{"a":"2"}`)) // the conflict says when
			var m corev1.ConfigMap
			if err := json.Unmarshal([]byte(s.get("~/configmaps/"+name).raw), &m); err != nil {
				s.t.Fatal(err)
			}
			for _, f := range m.ManagedFields { // other notes say neither the order nor the times
				s.note("%s since %v", f.Manager, yearOf(f.Time))
			}
		}
	}},
}

// yearOf returns the year of a time; 0 for none.
func yearOf(t *metav1.Time) int {
	if t == nil {
		return 0
	}
	return t.UTC().Year()
}

// The times that a client gives to managed fields stay as they are, whatever the clock of the server says.
func TestGivenTimesOfManagedFieldsAreKept(t *testing.T) {
	const configMaps = "/api/v1/namespaces/default/configmaps"
	for _, year := range []int{2001, 2060} {
		now := time.Date(year, 2, 3, 4, 5, 6, 0, time.UTC)
		s := apiserver.Start(t, apiserver.Options{Now: func() time.Time { return now }})
		send := func(method, path, contentType, body string) (m corev1.ConfigMap) {
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", contentType)
			resp, err := httpClient(t, s.RESTConfig()).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if err := json.NewDecoder(resp.Body).Decode(&m); err != nil || resp.StatusCode >= 300 {
				t.Fatalf("%s %s: %s, %v", method, path, resp.Status, err)
			}
			return m
		}
		send("POST", configMaps, jsonType, oddMap(`"name":"m"`, `"data":{"a":"1","b":"1","c":"1"}`))
		send("PATCH", configMaps+"/m", mergePatch, `{"metadata":{`+givenFields+`}}`)
		m := send("PATCH", configMaps+"/m?fieldManager=w", applyPatch, oddMap(`"name":"m"`, `"data":{"d":"1"}`))
		want := map[string]string{"z": "2022-01-01T00:00:00Z", "y": "2022-01-02T00:00:00Z", "x": "2999-01-03T00:00:00Z", "w": now.Format(time.RFC3339)}
		if len(m.ManagedFields) != len(want) {
			t.Errorf("in %d: %d entries, want %d", year, len(m.ManagedFields), len(want))
		}
		for _, f := range m.ManagedFields {
			if got := f.Time.UTC().Format(time.RFC3339); got != want[f.Manager] {
				t.Errorf("in %d: the fields of %s are of %s, want %s", year, f.Manager, got, want[f.Manager])
			}
		}
	}
}
