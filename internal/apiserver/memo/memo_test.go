package memo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	_ "github.com/flyball-io/flyball/internal/seed"
)

const uid = "0f3b7a52-8c1d-4e6f-9a0b-123456789abc"

func question(name string, version uint64, now time.Time) *rules.Request {
	return &rules.Request{
		Method: "POST", URL: "/api/v1/namespaces/ns/configmaps", User: "u", UID: uid, Suffix: "b4k2z", Now: now.UnixNano(), Version: version,
		Body:    fmt.Appendf(nil, `{"kind":"ConfigMap","metadata":{"labels":{"k":"v"},"name":%q},"data":{"k":"v"}}`, name),
		Objects: map[string]json.RawMessage{"/core/namespaces/ns": json.RawMessage(`{"metadata":{"name":"ns","uid":"` + uid + `","resourceVersion":"7"}}`)},
	}
}

// honest are rules whose answers have nothing of a question but its name and its values.
func honest(req *rules.Request) (*rules.Answer, error) {
	text := fmt.Appendf(nil, `{"name":%q,"uid":%q,"time":%q,"version":"%d"}`, nameOf(req), req.UID, timeOf(req.Now), req.Version+1)
	return &rules.Answer{Code: 201, Body: text, Writes: []rules.Write{{Key: "/" + nameOf(req), Version: req.Version + 1, Object: text}}}, nil
}

// nameOf returns the name of the object of a question.
func nameOf(req *rules.Request) string {
	var o struct{ Metadata struct{ Name string } }
	if json.Unmarshal(req.Body, &o) != nil {
		return ""
	}
	return o.Metadata.Name
}

// counted counts what is asked.
func counted(ask Ask) (Ask, *int) {
	n := new(int)
	return func(req *rules.Request) (*rules.Answer, error) {
		*n++
		return ask(req)
	}, n
}

var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// The third question of a form is answered without rules, as rules would. One with another name is of another form.
func TestFormsAreRemembered(t *testing.T) {
	ask, asked := counted(honest)
	over := New(1<<20).Over(ask, Creates)
	for i, name := range []string{"abc", "abc", "abc", "a-b", "a-b", "a-b"} {
		req := question(name, uint64(100+i), noon.Add(time.Duration(i)*time.Hour))
		before := *asked
		got, err := over(req)
		want, wantErr := honest(req)
		if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v %v, want %+v", name, got, err, want)
		}
		if n := *asked - before; n != []int{1, 3, 0}[i%3] {
			t.Errorf("%s: rules were asked %d times", name, n)
		}
	}
}

// The suffix is a part of the question if the name is generated, and is not read otherwise.
func TestSuffixes(t *testing.T) {
	for body, want := range map[string]bool{
		`{"metadata":{"generateName":"a-"}}`: true, `{"metadata":{"generat\u0065Name":"a-"}}`: true, `{"metadata":{"name":"a"}}`: false, `{"metadata":{"name":"a","generateName":""}}`: false,
	} {
		one := question("", 100, noon)
		one.Body = []byte(body)
		two := *one
		two.Suffix = "99999"
		f, ok := New(0).form(one)
		g, _ := New(0).form(&two)
		if !ok || f.values == nil || (f.key != g.key) != want {
			t.Errorf("%s: another suffix makes another form: %v, want %v", body, f.key != g.key, want)
		}
	}
}

// Rules whose answers depend on a value in another way are asked each time.
func TestWhatIsMoreThanItsValuesIsNotRemembered(t *testing.T) {
	for what, text := range map[string]func(*rules.Request) string{
		"a time to come": func(req *rules.Request) string {
			return time.Unix(0, req.Now).Add(30 * time.Second).UTC().Format(time.RFC3339)
		},
		"nanoseconds":        func(req *rules.Request) string { return fmt.Sprint(req.Now % 1000) },
		"a part of the uid":  func(req *rules.Request) string { return req.UID[:8] },
		"a later version":    func(req *rules.Request) string { return fmt.Sprint(req.Version + 1000) },
		"order of the uid":   func(req *rules.Request) string { return fmt.Sprint(req.UID < "8") },
		"that of namespaces": func(req *rules.Request) string { return string(req.Objects["/core/namespaces/ns"]) },
	} {
		rude := func(req *rules.Request) (*rules.Answer, error) {
			answer, err := honest(req)
			answer.Warnings = []string{text(req)}
			return answer, err
		}
		over := New(1<<20).Over(rude, Creates)
		for i := range 4 {
			req := question("abc", uint64(100+i), noon.Add(time.Duration(i)*time.Second))
			req.Now += int64(i)
			req.UID = fmt.Sprint(2*i) + uid[1:]
			got, err := over(req)
			if want, _ := rude(req); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %+v, want %+v", what, got, want)
			}
		}
	}
}

// Values that are one text by chance are told apart: what was learned from them holds for others.
func TestValuesOfOneTextAreToldApart(t *testing.T) {
	namespace := func(req *rules.Request) (o struct{ UID, Version, Time string }) {
		var n struct {
			Metadata struct{ UID, ResourceVersion, CreationTimestamp string }
		}
		if err := json.Unmarshal(req.Objects["/core/namespaces/ns"], &n); err != nil {
			t.Fatal(err)
		}
		o.UID, o.Version, o.Time = n.Metadata.UID, n.Metadata.ResourceVersion, n.Metadata.CreationTimestamp
		return o
	}
	for what, text := range map[string]func(*rules.Request) string{
		"uid of the namespace":     func(req *rules.Request) string { return namespace(req).UID },
		"version of the namespace": func(req *rules.Request) string { return namespace(req).Version },
		"time of the namespace":    func(req *rules.Request) string { return namespace(req).Time },
	} {
		of := func(version uint64, at time.Time, uid, nsVersion string) *rules.Request {
			req := question("abc", version, at)
			req.Objects["/core/namespaces/ns"] = fmt.Appendf(nil, `{"metadata":{"name":"ns","uid":%q,"resourceVersion":%q,"creationTimestamp":%q}}`, uid, nsVersion, timeOf(noon.UnixNano()))
			return req
		}
		shows := func(req *rules.Request) (*rules.Answer, error) {
			answer, err := honest(req)
			answer.Warnings = []string{text(req)}
			return answer, err
		}
		over := New(1<<20).Over(shows, Creates)
		same := of(100, noon, uid, "101")
		others := of(103, noon.Add(time.Hour), "1"+uid[1:], "888")
		for _, req := range []*rules.Request{same, same, others} {
			got, err := over(req)
			if want, _ := shows(req); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %s %v, want %s", what, got.Body, got.Warnings, want.Body)
			}
		}
	}
}

// Some questions have no values: rules may do more than compare them, or their places are not certain.
func TestQuestionsWithoutValues(t *testing.T) {
	base := question("abc", 100, noon)
	for what, change := range map[string]func(*rules.Request){
		"a policy": func(r *rules.Request) {
			r.Objects["/admissionregistration.k8s.io/validatingadmissionpolicies/p"] = json.RawMessage(`{}`)
		},
		"an expression of a webhook": func(r *rules.Request) {
			r.Objects["/admissionregistration.k8s.io/validatingwebhookconfigurations/x"] = json.RawMessage(`{"webhooks":[{"matchConditions":[{"name":"c","expression":"object.metadata.name > 'm'"}]}]}`)
		},
		"a quota":               func(r *rules.Request) { r.Objects["/core/resourcequotas/ns/q"] = json.RawMessage(`{}`) },
		"a response":            func(r *rules.Request) { r.Responses = []rules.Response{{Key: "k", Code: 200}} },
		"a key":                 func(r *rules.Request) { r.Seed = "s" },
		"impersonation":         func(r *rules.Request) { r.Impersonate = map[string][]string{"Impersonate-User": {"u"}} },
		"a review of a token":   func(r *rules.Request) { r.URL = "/apis/authentication.k8s.io/v1/tokenreviews" },
		"a table":               func(r *rules.Request) { r.Accept = "application/json;as=Table;g=meta.k8s.io;v=v1" },
		"a body in YAML":        func(r *rules.Request) { r.ContentType, r.Body = "application/yaml", []byte("metadata: {name: abc}") },
		"a list of changes":     func(r *rules.Request) { r.ContentType, r.Body = "application/json-patch+json", []byte("[]") },
		"a body that is cut":    func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc"`) },
		"a version spelled out": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"resourceVersion":"\u0037"}}`) },
		"a uid spelled out":     func(r *rules.Request) { r.Body = []byte(`{"metadata":{"uid":"\u0030` + uid[1:] + `"}}`) },
		"a version with a zero": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"resourceVersion":"07"}}`) },
		"a time with a zone": func(r *rules.Request) {
			r.Body = []byte(`{"metadata":{"creationTimestamp":"2026-11-25T13:00:00+01:00"}}`)
		},
		"an old time": func(r *rules.Request) {
			r.Body = []byte(`{"metadata":{"managedFields":[{"time":"1970-01-01T00:00:00Z"}]}}`)
		},
		"an object with an odd version": func(r *rules.Request) {
			r.Objects["/core/configmaps/ns/abc"] = json.RawMessage(`{"metadata":{"resourceVersion":"x"}}`)
		},
		"an escaped path": func(r *rules.Request) { r.URL = "/api/v1/namespaces/ns/config%6Daps" },
		"an odd time":     func(r *rules.Request) { r.Now = 0 },
		"an odd uid":      func(r *rules.Request) { r.UID = "u" },
	} {
		req := *base
		req.Objects = map[string]json.RawMessage{}
		change(&req)
		f, ok := New(0).form(&req)
		exact, _ := New(0).exact(&req)
		if !ok || f.values != nil || f.key != exact.key {
			t.Errorf("a question with %s has values", what)
		}
	}
	for what, change := range map[string]func(*rules.Request){
		"a create":                func(*rules.Request) {},
		"an update":               func(r *rules.Request) { r.Method, r.URL = "PUT", r.URL+"/abc" },
		"a uid that is no uuid":   func(r *rules.Request) { r.Body = []byte(`{"metadata":{"uid":"x"}}`) },
		"a version that is empty": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"resourceVersion":""}}`) },
		"another read": func(r *rules.Request) {
			r.Method, r.Body, r.Objects["/core/nodes/n"] = "GET", nil, json.RawMessage(`{}`)
		},
	} {
		req := *base
		req.Objects = map[string]json.RawMessage{}
		change(&req)
		if f, ok := New(0).form(&req); !ok || f.values == nil {
			t.Errorf("%s has no values", what)
		}
	}
	if _, ok := New(0).form(&rules.Request{Collection: &rules.Collection{}}); ok {
		t.Error("a list has a form")
	}
}

// Questions are of one form whatever uids, versions and times the objects have that they only read, and no matter which
// webhooks there are beside them. What else these objects have makes another form.
func TestFormsDoNotDependOnTheIdentityOfContext(t *testing.T) {
	const (
		namespace = `{"metadata":{"name":"ns","uid":"0f3b7a52-8c1d-4e6f-9a0b-123456789a00","resourceVersion":"7","creationTimestamp":"2026-11-25T12:00:00Z",` +
			`"labels":{"time":"2026-11-25T12:00:00Z"},"managedFields":[{"time":"2026-11-25T12:00:00Z"}]},"spec":{},"status":{"conditions":[{"lastTransitionTime":"2026-11-25T12:00:00Z"}]}}`
		hooks = `{"metadata":{"name":"h","uid":"0f3b7a52-8c1d-4e6f-9a0b-123456789a00","managedFields":[{"time":"2026-11-25T12:00:00Z"}]},"webhooks":[{"objectSelector":{"matchLabels":{"time":"2026-11-25T12:00:00Z"}}}]}`
	)
	of := func(namespace, hooks string) key {
		req := question("abc", 100, noon)
		req.Objects["/core/namespaces/ns"], req.Objects["/admissionregistration.k8s.io/validatingwebhookconfigurations/h"] = json.RawMessage(namespace), json.RawMessage(hooks)
		f, ok := New(0).form(req)
		if !ok || f.values == nil {
			t.Fatal("no form")
		}
		return f.key
	}
	base := of(namespace, hooks)
	for _, same := range [][2]string{
		{`"uid":"0`, `"uid":"f`}, {`"uid":"0f3b`, `"uid":"10aa`}, {`"resourceVersion":"7"`, `"resourceVersion":"8"`}, {`[{"time":"2026`, `[{"time":"1999`},
		{`"creationTimestamp":"2026`, `"creationTimestamp":"1999`}, {`"lastTransitionTime":"2026`, `"lastTransitionTime":"1999`},
	} {
		if of(strings.Replace(namespace, same[0], same[1], 1), strings.Replace(hooks, same[0], same[1], 1)) != base {
			t.Errorf("%s makes another form", same[1])
		}
	}
	for _, other := range [][2]string{{`"name":"ns"`, `"name":"nt"`}, {`"labels":{"time":"2026`, `"labels":{"time":"1999`}, {`"resourceVersion":"7"`, `"resourceVersion":"17"`}} {
		if of(strings.Replace(namespace, other[0], other[1], 1), hooks) == base {
			t.Errorf("%s is of the same form", other[1])
		}
	}
	if of(namespace, strings.Replace(hooks, `"matchLabels":{"time":"2026`, `"matchLabels":{"time":"1999`, 1)) == base {
		t.Error("the selector of a webhook is no part of the form")
	}
}

// Questions without values are remembered as they are.
func TestOtherQuestionsAreRememberedAsTheyAre(t *testing.T) {
	ask, asked := counted(honest)
	over := New(1<<20).Over(ask, Creates)
	req := question("abc", 100, noon)
	req.Seed = "s"
	for range 5 {
		if _, err := over(req); err != nil {
			t.Fatal(err)
		}
	}
	if *asked != 2 {
		t.Errorf("rules were asked %d times", *asked)
	}
	req.Now++
	if _, err := over(req); err != nil || *asked != 3 {
		t.Errorf("another question was asked %d times: %v", *asked, err)
	}
}

// Where time is virtual, a question that cannot be remembered by its form is remembered as it is.
func TestEqualQuestionsAreRememberedWhereTimeIsVirtual(t *testing.T) {
	for again, want := range map[Again]int{All: 6, Creates: 7} {
		ask, asked := counted(func(req *rules.Request) (*rules.Answer, error) {
			return &rules.Answer{Code: 200, Body: []byte(fmt.Sprint(req.Now))}, nil
		})
		over := New(1<<20).Over(ask, again)
		for range 5 {
			if _, err := over(question("abc", 100, noon)); err != nil {
				t.Fatal(err)
			}
		}
		if *asked != want {
			t.Errorf("%v: rules were asked %d times, want %d", again, *asked, want)
		}
	}
}

// The memory is bounded. What is used stays.
func TestMemoryIsBounded(t *testing.T) {
	ask, asked := counted(honest)
	m := New(20_000)
	over := m.Over(ask, Creates)
	for i := range 1000 {
		for range 2 {
			if _, err := over(question(fmt.Sprint("n", i), 100, noon)); err != nil {
				t.Fatal(err)
			}
		}
		before := *asked
		if _, err := over(question("n0", 100, noon)); err != nil || i > 2 && *asked != before {
			t.Fatalf("what is used was forgotten: %v", err)
		}
	}
	if m.answers.used > 10_000 || len(m.answers.young)+len(m.answers.old) > 200 || len(m.once.young) > maxOnce {
		t.Errorf("%d bytes, %d and %d answers, %d questions", m.answers.used, len(m.answers.young), len(m.answers.old), len(m.once.young))
	}
}

// What is known of objects is bounded, and the same for the same text.
func TestShapesAreBounded(t *testing.T) {
	var s shapes
	text := func(n int) []byte { return fmt.Appendf(nil, `{"metadata":{"uid":%q},"pad":"%060000d"}`, uid, n) }
	first := s.of(text(1))
	for n := range 200 {
		if got := s.of(text(n)); (got == first) != (n == 1) {
			t.Errorf("the shape of object %d", n)
		}
	}
	if s.bytes > maxShapes+70_000 || len(s.known) > 100 {
		t.Errorf("%d bytes of %d texts are held", s.bytes, len(s.known))
	}
}

// The questions for comparison have the same form, and the time, the uid and the first digits of the versions differ in each
// character that may.
func TestOtherValuesDiffer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := time.Unix(rapid.Int64Range(946_684_800, 3_155_759_999).Draw(r, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds"))
		req := question("abc", rapid.Uint64Range(1, 1_000_000).Draw(r, "version"), at)
		m := New(0)
		f, ok := m.form(req)
		p, read := read(req, maxVersions)
		if !ok || !read || f.values == nil {
			r.Fatalf("no form: %+v", f)
		}
		all := [][]string{f.values}
		for n := range 2 {
			other, values, ok := probe(req, p, n)
			if !ok {
				r.Fatalf("version %d at %v has no probe", req.Version, at)
			}
			all = append(all, values)
			if again, ok := m.form(other); !ok || again.key != f.key && len(again.values) == len(f.values) {
				r.Errorf("%+v is another form than %+v", other, req)
			}
			for i, a := range f.values {
				b := values[i]
				if len(a) != len(b) {
					r.Fatalf("%q and %q", a, b)
				}
				for j := range len(a) {
					fixed := len(a) == uidLength && (j == 14 || a[j] == '-') || len(a) == 20 && (a[j] < '0' || a[j] > '9') || i > 2 && j > 0
					if a[j] == b[j] && !fixed {
						r.Errorf("%q and %q have the same character %d", a, b, j)
					}
				}
			}
		}
		if !apart(all) {
			r.Errorf("two values cannot be told apart: %q", all)
		}
	})
}

// Answers that are not all of one form teach nothing.
func TestCompareIsStrict(t *testing.T) {
	values := [][]string{{"ab", "1"}, {"no", "6"}, {"op", "7"}}
	slots, ok := compare([][]byte{[]byte("x ab 1"), []byte("x no 6"), []byte("x op 7")}, values)
	if !ok || !reflect.DeepEqual(slots, []slot{{2, 0}, {5, 1}}) {
		t.Errorf("got %v %v", slots, ok)
	}
	for _, bad := range [][3]string{
		{"x ab", "x no", "x no"}, {"x ab", "x ab", "x op"}, {"x ab", "x noo", "x op"}, {"x ba", "x on", "x po"}, {"1", "2", "7"}, {"a", "n", "o"},
	} {
		if slots, ok := compare([][]byte{[]byte(bad[0]), []byte(bad[1]), []byte(bad[2])}, values); ok {
			t.Errorf("%q: %v", bad, slots)
		}
	}
}
