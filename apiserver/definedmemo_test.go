package apiserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/tier"
)

// Answers about custom resources from memory, and from the file of an earlier process, equal those of rules, whatever
// their definition reads. The definitions are drawn. Uids, versions and times differ from question to question.
func TestRememberedCustomResourcesAreThoseOfRules(t *testing.T) {
	const processes, each = 2, 5
	drawn := 4
	if tier.InAudit() {
		drawn = 25
	}
	definitions := uint64(number(t, "DEFINITIONS", drawn))
	direct := apiserver.Direct(t)
	random := rand.New(rand.NewPCG(3, 4))
	name := filepath.Join(t.TempDir(), "answers")
	var hits, misses uint64
	for n := range definitions {
		d := drawDefinition("drawn.example.com", n)
		questions := definedQuestions(t, direct, d)
		for process := range processes {
			file, err := memo.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			m := memo.New(8 << 20)
			m.Use(file)
			over := m.Over(memo.Ask(direct), memo.Creates)
			for _, q := range questions {
				for range each {
					req := varied(random, q, 900)
					want, err := direct(req)
					if err != nil {
						t.Fatal(err)
					}
					got, err := over(req)
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Fatalf("definition %d, process %d: %s\n%s %s %s suffix %s:\ngot  %s\nwant %s", n, process, d.body, q.Method, q.URL, req.Body, req.Suffix, shown(got), shown(want))
					}
				}
			}
			h, ms := m.Counts()
			hits, misses = hits+h, misses+ms
			file.Close()
		}
	}
	t.Logf("%d of %d answers from memory", hits, hits+misses)
	if hits < misses/4 {
		t.Error("custom resources are asked each time")
	}
}

// definedQuestions returns questions about objects of each kind of a definition. They create one with a name, one with a name
// that is generated, and others that a time in the body makes odd; and they change, scale and delete these.
func definedQuestions(t *testing.T, direct func(*rules.Request) (*rules.Answer, error), d drawn) (out []*rules.Request) {
	t.Helper()
	handler, end, _ := apiserver.Handler(t, func(req *rules.Request) (*rules.Answer, error) {
		if strings.Contains(req.URL, d.name[:strings.IndexByte(d.name, '.')]) && req.Collection == nil {
			q := *req
			q.Objects = maps.Clone(req.Objects)
			out = append(out, &q)
		}
		return direct(req)
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	defer end()
	s := &session{t: t, client: server.Client(), url: server.URL, ns: "default", names: map[string]string{}}
	if code, _, text := s.send("POST", definitions, d.body); code != http.StatusCreated {
		t.Fatalf("%d %s\n%s", code, text, d.body)
	}
	const managed = `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"API","time":"TIME","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}}}]`
	for _, k := range d.kinds {
		apiVersion, _, _ := strings.Cut(k.kind, " ")
		ofTime := func(time string) string { return strings.NewReplacer("API", apiVersion, "TIME", time).Replace(managed) }
		bodies := []string{
			k.body("abc-123"), k.body("abc-123", `"labels":{"a":"b"}`), k.body("abc-123", ofTime("2015-06-07T08:09:10Z")), k.body("abc-123", ofTime("2040-06-07T08:09:10Z")),
			strings.Replace(k.body("abc-"), `"name"`, `"generateName"`, 1), strings.Replace(k.body("xyz-123."), `"name"`, `"generateName"`, 1),
		}
		if len(k.changes) > 0 {
			bodies = append(bodies, merged(k.body("abc-123"), k.changes[0]))
		}
		for i, body := range bodies {
			accept := jsonType
			if i == len(bodies)-1 {
				accept = acceptTable
			}
			code, _, text := s.send("POST", s.path(k.path), body, "Accept", accept)
			var o metav1.PartialObjectMetadata
			if code != http.StatusCreated || accept == acceptTable || json.Unmarshal(text, &o) != nil {
				continue
			}
			one := s.path(k.path) + "/" + o.Name
			s.send("PUT", one, merged(string(text), `{"spec":{"size":7}}`))
			s.send("PUT", one, string(text)) // of a version that is gone
			for _, change := range k.changes[:min(2, len(k.changes))] {
				s.send("PATCH", one, change, "Content-Type", mergePatch)
			}
			s.send("PATCH", one+"?fieldManager=m&force=true", fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"finalizers":["a.b/c"]}}`, o.APIVersion, o.Kind, o.Name), "Content-Type", applyPatch)
			for _, sub := range k.subresources {
				s.send("PATCH", one+"/"+sub, `{"status":{"phase":"x"}}`, "Content-Type", mergePatch)
			}
			s.send("GET", one, "", "Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
			s.send("DELETE", one, fmt.Sprintf(`{"preconditions":{"uid":%q}}`, o.UID))
			s.send("PATCH", one, `{"metadata":{"finalizers":null}}`, "Content-Type", mergePatch)
		}
	}
	return out
}

// merged returns an object with the spec of another one.
func merged(object, with string) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &a) != nil || json.Unmarshal([]byte(with), &b) != nil {
		panic(fmt.Sprint(object, with)) // they stand here
	}
	maps.Copy(a, b)
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(text)
}
