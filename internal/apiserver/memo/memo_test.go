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
)

const uid = "0f3b7a52-8c1d-4e6f-9a0b-123456789abc"

func question(name string, version uint64, now time.Time) *rules.Request {
	return &rules.Request{
		Method: "POST", URL: "/api/v1/namespaces/ns/configmaps", User: "u", UID: uid, Suffix: "b4k2z", Now: now.UnixNano(), Version: version,
		Body:    fmt.Appendf(nil, `{"kind":"ConfigMap","metadata":{"labels":{"k":"v"},"name":%q},"data":{"k":"v"}}`, name),
		Objects: map[string]json.RawMessage{"/core/namespaces/ns": json.RawMessage(`{"metadata":{"name":"ns","uid":"` + uid + `","resourceVersion":"7"}}`)},
	}
}

// honest are rules whose answers have nothing of a question but its values.
func honest(req *rules.Request) (*rules.Answer, error) {
	var o struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal(req.Body, &o); err != nil {
		return nil, err
	}
	text := fmt.Appendf(nil, `{"name":%q,"uid":%q,"time":%q,"version":"%d"}`, o.Metadata.Name, req.UID, time.Unix(0, req.Now).UTC().Format(time.RFC3339), req.Version+1)
	return &rules.Answer{Code: 201, Body: text, Writes: []rules.Write{{Key: "/" + o.Metadata.Name, Version: req.Version + 1, Object: text}}}, nil
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

// A name that is no value, since it stands elsewhere, may be the shape of one that is.
func TestNamesLikeShapes(t *testing.T) {
	over := New(1<<20).Over(honest, Creates)
	for i, name := range []string{"a", "a", "a", "x", "x", "x", "a"} { // an a is in "metadata"
		req := question(name, uint64(100+i), noon.Add(time.Duration(i)*time.Hour))
		got, err := over(req)
		want, wantErr := honest(req)
		if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v %v, want %+v", name, got, err, want)
		}
	}
}

// The third question of a form is answered without rules, as rules would.
func TestFormsAreRemembered(t *testing.T) {
	ask, asked := counted(honest)
	over := New(1<<20).Over(ask, Creates)
	for i, name := range []string{"abc", "xyz", "q7r", "a-b", "a-c", "a-d"} {
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

// Rules whose answers depend on a value in another way are asked each time.
func TestWhatIsMoreThanItsValuesIsNotRemembered(t *testing.T) {
	for what, text := range map[string]func(*rules.Request) string{
		"a time to come": func(req *rules.Request) string {
			return time.Unix(0, req.Now).Add(30 * time.Second).UTC().Format(time.RFC3339)
		},
		"nanoseconds":        func(req *rules.Request) string { return fmt.Sprint(req.Now % 1000) },
		"a part of the uid":  func(req *rules.Request) string { return req.UID[:8] },
		"a later version":    func(req *rules.Request) string { return fmt.Sprint(req.Version + 1000) },
		"the name upside":    func(req *rules.Request) string { return strings.ToUpper(nameOf(req)) },
		"order of the name":  func(req *rules.Request) string { return fmt.Sprint(nameOf(req) < "m") },
		"that of namespaces": func(req *rules.Request) string { return string(req.Objects["/core/namespaces/ns"]) },
	} {
		rude := func(req *rules.Request) (*rules.Answer, error) {
			answer, err := honest(req)
			answer.Warnings = []string{text(req)}
			return answer, err
		}
		over := New(1<<20).Over(rude, Creates)
		for i, name := range []string{"abc", "xyz", "qrs", "tuv"} {
			req := question(name, uint64(100+i), noon.Add(time.Duration(i)*time.Second))
			req.Now += int64(i)
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
	for what, c := range map[string]struct {
		name    string // of the object from which the form is learned
		version uint64
		suffix  string
		text    func(*rules.Request) string // what is shown, too
	}{
		"name and version":          {name: "212", version: 211},
		"name and version, carried": {name: "200", version: 199},
		"name begins the version":   {name: "2", version: 211},
		"version begins the name":   {name: "212ab", version: 211},
		"name and suffix":           {name: "b4k2z", version: 100, suffix: "b4k2z", text: func(req *rules.Request) string { return req.Suffix }},
		"suffix and version":        {name: "abc", version: 24566, suffix: "24567", text: func(req *rules.Request) string { return req.Suffix }},
		"uid of the namespace":      {name: "abc", version: 100, text: func(req *rules.Request) string { return namespace(req).UID }},
		"version of the namespace":  {name: "abc", version: 100, text: func(req *rules.Request) string { return namespace(req).Version }},
		"time of the namespace":     {name: "abc", version: 100, text: func(req *rules.Request) string { return namespace(req).Time }},
	} {
		of := func(name string, version uint64, suffix string, at time.Time, uid, nsVersion string) *rules.Request {
			req := question(name, version, at)
			req.Suffix = suffix
			req.Objects["/core/namespaces/ns"] = fmt.Appendf(nil, `{"metadata":{"name":"ns","uid":%q,"resourceVersion":%q,"creationTimestamp":%q}}`, uid, nsVersion, noon.Format(time.RFC3339))
			return req
		}
		shows := func(req *rules.Request) (*rules.Answer, error) {
			answer, err := honest(req)
			if c.text != nil {
				answer.Warnings = []string{c.text(req)}
			}
			return answer, err
		}
		over := New(1<<20).Over(shows, Creates)
		digits := len(fmt.Sprint(c.version))
		same := of(c.name, c.version, c.suffix, noon, uid, fmt.Sprint(c.version+1))
		others := of(map[bool]string{true: "7", false: "q"}[c.name[0] <= '9']+strings.Repeat("7", len(c.name)-1), c.version+uint64(digits), strings.Repeat("k", len(c.suffix)), noon.Add(time.Hour), "1"+uid[1:], strings.Repeat("8", digits))
		for _, req := range []*rules.Request{same, same, others} {
			got, err := over(req)
			if want, _ := shows(req); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: got %s %v, want %s", what, got.Body, got.Warnings, want.Body)
			}
		}
	}
}

// What stands elsewhere in the question is no value: rules may compare it.
func TestNamesThatStandElsewhere(t *testing.T) {
	base := question("abc", 100, noon)
	for what, change := range map[string]func(*rules.Request){
		"in the body": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc","labels":{"job-name":"abc"}}}`) },
		"in a text":   func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc"},"data":{"k":"xabcx\\n"}}`) },
		"in a label": func(r *rules.Request) {
			r.Body = []byte(`{"metadata":{"name":"abc","labels":{"k":"xabcx"}},"data":{"k":"v"}}`)
		},
		"twice":        func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc","name":"xyz"}}`) },
		"two metadata": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc"},"metadata":{}}`) },
		"spelled":      func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc","n\u0061me":"xyz"}}`) },
		"in the path":  func(r *rules.Request) { r.URL = "/api/v1/namespaces/abc/configmaps" },
		"of a user":    func(r *rules.Request) { r.User = "system:node:abc" },
		"of an object": func(r *rules.Request) { r.Objects["/core/configmaps/ns/abc"] = json.RawMessage(`{}`) },
		"of a webhook": func(r *rules.Request) {
			r.Objects[mutatingKeys+"x"] = json.RawMessage(`{"webhooks":[{"objectSelector":{"matchLabels":{"k":"abc"}}}]}`)
		},
		"of a class":  func(r *rules.Request) { r.URL = "/apis/scheduling.k8s.io/v1/priorityclasses" },
		"large":       func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"ABC"}}`) },
		"as a number": func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":123}}`) },
		"in YAML":     func(r *rules.Request) { r.ContentType, r.Body = "application/yaml", []byte("metadata: {name: abc}") },
		"cut":         func(r *rules.Request) { r.Body = []byte(`{"metadata":{"name":"abc"`) },
		"a custom rule's": func(r *rules.Request) {
			r.URL, r.Objects[definitionKeys+"orders.example.com"] = "/apis/example.com/v1/orders", json.RawMessage(`{"x-kubernetes-validations":[{"rule":"self.metadata.name != 'x'"}]}`)
		},
	} {
		req := *base
		req.Objects = map[string]json.RawMessage{}
		change(&req)
		if f, ok := New(0).form(&req); !ok || f.values[valueName] != "" {
			t.Errorf("%s: the name is a value", what)
		}
	}
	for what, change := range map[string]func(*rules.Request){
		"a policy": func(r *rules.Request) {
			r.Objects["/admissionregistration.k8s.io/validatingadmissionpolicies/p"] = json.RawMessage(`{}`)
		},
		"an expression of a webhook": func(r *rules.Request) {
			r.Objects[validatingKeys+"x"] = json.RawMessage(`{"webhooks":[{"matchConditions":[{"name":"c","expression":"object.metadata.name > 'm'"}]}]}`)
		},
		"a response": func(r *rules.Request) { r.Responses = []rules.Response{{Key: "k", Code: 200}} },
	} {
		req := *base
		req.Objects = map[string]json.RawMessage{}
		change(&req)
		if f, ok := New(0).form(&req); !ok || f.values != (values{}) {
			t.Errorf("a question with %s has values", what)
		}
	}
	if f, ok := New(0).form(base); !ok || f.values[valueName] != "abc" {
		t.Error("the name is no value")
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
		req.Objects["/core/namespaces/ns"], req.Objects[validatingKeys+"h"] = json.RawMessage(namespace), json.RawMessage(hooks)
		f, ok := New(0).form(req)
		if !ok || f.values[valueName] == "" {
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

// Other questions are remembered as they are.
func TestOtherQuestionsAreRememberedAsTheyAre(t *testing.T) {
	ask, asked := counted(honest)
	over := New(1<<20).Over(ask, Creates)
	req := question("abc", 100, noon)
	req.Method = "PUT"
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

// The memory is bounded. What is used stays.
func TestMemoryIsBounded(t *testing.T) {
	ask, asked := counted(honest)
	m := New(20_000)
	over := m.Over(ask, Creates)
	for i := range 1000 {
		for range 2 {
			req := question("abc", 100, noon)
			req.Method, req.Version = "PUT", uint64(i)
			if _, err := over(req); err != nil {
				t.Fatal(err)
			}
		}
		req := question("abc", 100, noon)
		req.Method = "PUT"
		before := *asked
		if _, err := over(req); err != nil || i > 2 && *asked != before {
			t.Fatalf("what is used was forgotten: %v", err)
		}
	}
	if m.bytes > 10_000 || len(m.young)+len(m.old) > 200 || len(m.once) > maxOnce {
		t.Errorf("%d bytes, %d and %d answers, %d questions", m.bytes, len(m.young), len(m.old), len(m.once))
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

// The questions for comparison have the same form, and differ in each character that may.
func TestOtherValuesDiffer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?`).Draw(r, "name")
		at := time.Unix(rapid.Int64Range(946_684_800, 3_155_759_999).Draw(r, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds"))
		req := question(name, rapid.Uint64Range(1, 1_000_000).Draw(r, "version"), at)
		m := New(0)
		f, ok := m.form(req)
		if !ok || f.values[valueName] == "" && !strings.Contains("kind ConfigMap metadata labels k v name data 0 /api/v1/namespaces/ns/configmaps u ns", name) {
			r.Fatalf("%q: no form: %+v", name, f)
		}
		forms := []*form{&f}
		for n := range 2 {
			if _, ok := otherVersion(req.Version, n); !ok {
				r.Fatalf("version %d has no other", req.Version)
			}
			other, g, ok := f.other(req, n)
			if !ok {
				continue // there is none
			}
			forms = append(forms, g)
			if len(g.values[valueVersion]) != len(f.values[valueVersion]) {
				r.Errorf("versions %s and %s", f.values[valueVersion], g.values[valueVersion])
			}
			again, ok := m.form(other)
			if !ok || again.key != f.key && f.values[valueName] != "" && again.values[valueName] != "" {
				r.Errorf("%q is another form than %q", other.Body, req.Body)
			}
			for kind, a := range f.values {
				b := g.values[kind]
				if a == "" && kind >= valueVersion || b == "" && kind >= valueVersion {
					continue
				}
				if len(a) != len(b) {
					r.Fatalf("%q and %q", a, b)
				}
				for i := range len(a) {
					fixed := kind == valueUID && (i == 14 || a[i] == '-') || kind == valueTime && (a[i] < '0' || a[i] > '9') || kind == valueName && (a[i] == '-' || a[i] == '.') || kind >= valueVersion && i > 0
					if a[i] == b[i] && !fixed {
						r.Errorf("%q and %q have the same character %d", a, b, i)
					}
				}
			}
		}
		// A version whose first digit could not be turned like the others may look like a name. Then nothing is learned.
		turned := func(n int) bool {
			text := f.values[valueVersion]
			return rotated(text, turn(turnVersion, n)) == forms[1+n].values[valueVersion]
		}
		if len(forms) == 3 && turned(0) && turned(1) && !apart(forms) {
			r.Errorf("two values cannot be told apart: %q, %q, %q", f.values, forms[1].values, forms[2].values)
		}
	})
}

// Answers that are not all of one form teach nothing.
func TestCompareIsStrict(t *testing.T) {
	forms := []*form{{values: values{valueName: "ab", valueVersion: "1"}}, {values: values{valueName: "no", valueVersion: "6"}}, {values: values{valueName: "op", valueVersion: "7"}}}
	slots, ok := compare([][]byte{[]byte("x ab 1"), []byte("x no 6"), []byte("x op 7")}, forms)
	if !ok || !reflect.DeepEqual(slots, []slot{{2, valueName}, {5, valueVersion}}) {
		t.Errorf("got %v %v", slots, ok)
	}
	for _, bad := range [][3]string{
		{"x ab", "x no", "x no"}, {"x ab", "x ab", "x op"}, {"x ab", "x noo", "x op"}, {"x ba", "x on", "x po"}, {"1", "2", "7"}, {"a", "n", "o"},
	} {
		if slots, ok := compare([][]byte{[]byte(bad[0]), []byte(bad[1]), []byte(bad[2])}, forms); ok {
			t.Errorf("%q: %v", bad, slots)
		}
	}
}
