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

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/tier"
)

// Answers about custom resources from memory, and from the file of an earlier process, equal those of rules, whatever
// their definition reads. The definitions are drawn. Names, uids, versions and times differ from question to question.
func TestRememberedCustomResourcesAreThoseOfRules(t *testing.T) {
	t.Parallel() // it mostly waits for the rules
	const processes, questions = 2, 16
	drawn := 6
	if tier.InAudit() {
		drawn = 25
	}
	definitions := uint64(number(t, "DEFINITIONS", drawn))
	direct := apiserver.Direct(t)
	random := rand.New(rand.NewPCG(3, 4))
	name := filepath.Join(t.TempDir(), "answers")
	var hits, ruledHits, misses uint64
	for n := range definitions {
		d := drawDefinition("drawn.example.com", n)
		creates := createsOf(t, direct, d)
		for process := range processes {
			file, err := memo.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			m := memo.New(8 << 20)
			m.Use(file)
			over := m.Over(memo.Ask(direct), memo.Creates)
			for i, k := range d.kinds {
				for _, q := range creates[i] {
					before, _ := m.Counts()
					for range questions {
						req := varied(random, q, k.pool[random.IntN(len(k.pool))], 900)
						want, err := direct(req)
						if err != nil {
							t.Fatal(err)
						}
						got, err := over(req)
						if err != nil || !reflect.DeepEqual(got, want) {
							t.Fatalf("definition %d, process %d: %s\n%s %s suffix %s:\ngot  %s\nwant %s", n, process, d.body, q.URL, req.Body, req.Suffix, shown(got), shown(want))
						}
					}
					after, _ := m.Counts()
					if k.ruled {
						ruledHits += after - before
					}
				}
			}
			h, ms := m.Counts()
			hits, misses = hits+h, misses+ms
			file.Close()
		}
	}
	t.Logf("%d of %d answers from memory, %d of them about kinds with rules about names", hits, hits+misses, ruledHits)
	if hits == ruledHits {
		t.Error("custom resources are asked each time")
	}
}

// createsOf returns questions that create an object of each kind of a definition: with a name, with one that is
// generated, and others that a time in the body makes odd.
func createsOf(t *testing.T, direct func(*rules.Request) (*rules.Answer, error), d drawn) (out [][]*rules.Request) {
	t.Helper()
	var last *rules.Request
	handler, end, _ := apiserver.Handler(t, func(req *rules.Request) (*rules.Answer, error) {
		if req.Method == http.MethodPost {
			q := *req
			q.Objects = maps.Clone(req.Objects)
			last = &q
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
		var of []*rules.Request
		for i, body := range bodies {
			accept := jsonType
			if i == len(bodies)-1 {
				accept = acceptTable
			}
			last = nil
			s.send("POST", s.path(k.path), body, "Accept", accept)
			if last != nil { // else it is refused without rules
				of = append(of, last)
			}
		}
		out = append(out, of)
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
