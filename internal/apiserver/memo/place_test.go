package memo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// asked returns the create of a ConfigMap, as JSON or as protobuf.
func asked(t *testing.T, protobuf bool, name string, data map[string]string, version uint64) *rules.Request {
	m := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	req := question(name, version, noon.Add(time.Duration(version)*time.Second))
	var err error
	if req.Body, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if protobuf {
		raw, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if req.Body, err = (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: m.Kind, APIVersion: m.APIVersion}, Raw: raw}).Marshal(); err != nil {
			t.Fatal(err)
		}
		req.Body, req.ContentType = append([]byte("k8s\x00"), req.Body...), "application/vnd.kubernetes.protobuf"
	}
	return req
}

// shows are rules that answer with a ConfigMap in both formats.
func shows(req *rules.Request) (*rules.Answer, error) {
	m := &corev1.ConfigMap{}
	text := req.Body
	if req.ContentType != "" {
		var u runtime.Unknown
		if err := u.Unmarshal(req.Body[4:]); err != nil {
			return nil, err
		}
		if err := m.Unmarshal(u.Raw); err != nil {
			return nil, err
		}
	} else if err := json.Unmarshal(text, m); err != nil {
		return nil, err
	}
	m.ResourceVersion, m.UID = fmt.Sprint(req.Version+1), "u"
	raw, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	text, err = json.Marshal(m)
	return &rules.Answer{Code: 201, Body: raw, Writes: []rules.Write{{Key: "/" + m.Name, Version: req.Version + 1, Object: text, Fields: map[string]string{"metadata.name": m.Name}}}}, err
}

// ConfigMaps with other data of the same length are of one form, whatever the texts are.
func TestTextsAreValues(t *testing.T) {
	for _, protobuf := range []bool{false, true} {
		for what, data := range map[string][]map[string]string{
			"numbers":   {{"k": "101"}, {"k": "102"}, {"k": "212"}, {"k": "007"}},
			"two":       {{"a": "xy", "b": "xy"}, {"a": "xy", "b": "xy"}, {"a": "12", "b": "{}"}, {"a": "a:", "b": "ab"}},
			"the name":  {{"k": "abc"}, {"k": "abc"}, {"k": "the"}, {"k": "nam"}},
			"more than": {{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}, {"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}, {"a": "5", "b": "4", "c": "3", "d": "2", "e": "5"}},
			"long":      {{"k": "a b/c=d"}, {"k": "~~~~~~~"}, {"k": "       "}, {"k": "\x60{|}[^_"}},
		} {
			ask, times := counted(shows)
			over := New(1<<20).Over(ask, Creates)
			for i, d := range data {
				req := asked(t, protobuf, "abc", d, uint64(211+i))
				before := *times
				got, err := over(req)
				want, wantErr := shows(req)
				if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %s %v, want %s", what, got.Writes[0].Object, err, want.Writes[0].Object)
				}
				if n := *times - before; n != []int{1, 3, 0, 0}[i] {
					t.Errorf("%s, protobuf %v: rules were asked %d times about %v", what, protobuf, n, d)
				}
			}
		}
	}
}

// Annotations of Jobs are texts, too, and nothing else of them.
func TestAnnotationsOfJobsAreTexts(t *testing.T) {
	j := &batchv1.Job{TypeMeta: metav1.TypeMeta{Kind: "Job", APIVersion: "batch/v1"}, ObjectMeta: metav1.ObjectMeta{Name: "q", Labels: map[string]string{"l": "v"}, Annotations: map[string]string{"at": "2026-11-25T12:00:00Z"}}}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := j.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: j.Kind, APIVersion: j.APIVersion}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for contentType, body := range map[string][]byte{"application/json": text, "application/vnd.kubernetes.protobuf": append([]byte("k8s\x00"), packed...)} {
		req := question("q", 100, noon)
		req.URL, req.Body, req.ContentType = "/apis/batch/v1/namespaces/ns/jobs", body, contentType
		f, ok := New(0).form(req)
		if !ok || f.values[valueText] != "2026-11-25T12:00:00Z" || f.values[valueText+1] != "" {
			t.Errorf("%s: %q", contentType, f.values)
		}
	}
}

// Texts that a format may show in another way are no values, nor are those of other kinds.
func TestTextsThatAreNoValues(t *testing.T) {
	texts := func(req *rules.Request) int {
		f, ok := New(0).form(req)
		if !ok {
			t.Fatal("no form")
		}
		n := 0
		for _, p := range f.places {
			if p.kind >= valueText {
				n++
			}
		}
		return n
	}
	for _, text := range []string{"", "a\n", "\"", "\\", "<", ">", "&", "é", "\x7f", "\u2028"} {
		for _, protobuf := range []bool{false, true} {
			if n := texts(asked(t, protobuf, "abc", map[string]string{"k": text}, 1)); n != 0 {
				t.Errorf("%q is a value", text)
			}
		}
	}
	for what, change := range map[string]func(*rules.Request){
		"of a Secret":   func(r *rules.Request) { r.URL = "/api/v1/namespaces/ns/secrets" },
		"of an update":  func(r *rules.Request) { r.Method = "PUT" },
		"in YAML":       func(r *rules.Request) { r.ContentType = "application/yaml" },
		"twice":         func(r *rules.Request) { r.Body = []byte(`{"data":{"k":"v"},"data":{"k":"v"}}`) },
		"null":          func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"q"},"data":null}`) },
		"a number":      func(r *rules.Request) { r.Body = []byte(`{"data":{"k":1}}`) },
		"in other data": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"data":{"k":"v"}},"binaryData":{"k":"v"}}`) },
		"under a policy": func(r *rules.Request) {
			r.Objects["/admissionregistration.k8s.io/validatingadmissionpolicies/p"] = json.RawMessage(`{}`)
		},
	} {
		req := asked(t, false, "abc", map[string]string{"k": "v"}, 1)
		change(req)
		if n := texts(req); n != 0 {
			t.Errorf("%s: %d texts are values", what, n)
		}
	}
	if n := texts(asked(t, false, "abc", map[string]string{"k": "v"}, 1)); n != 1 {
		t.Errorf("%d texts are values", n)
	}
}
