package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/tier"
)

// Answers from memory equal those of rules. The questions are the creates of the conformance suite, as JSON and as
// protobuf, with many names, times, uids and versions. Some of the names mean something to some kinds. Without
// FLYBALL_LONG some questions of each kind and format are asked.
func TestRememberedAnswersAreThoseOfRules(t *testing.T) {
	t.Parallel() // it mostly waits for the rules
	direct := apiserver.Direct(t)
	random := rand.New(rand.NewPCG(1, 2))
	questions := someOf(t, random, creations(t, direct), direct)
	if len(questions) < 100 {
		t.Fatalf("%d questions", len(questions))
	}
	known, asked := map[string]uint64{}, map[string]uint64{} // collections and what was answered from memory, and in all
	for _, q := range questions {
		m := memo.New(8 << 20)
		over := m.Over(memo.Ask(direct), memo.Creates)
		same := func(req *rules.Request) {
			t.Helper()
			want, err := direct(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := over(req)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s %q with %q:\ngot  %s\nwant %s", q.URL, req.Body, slices.Sorted(maps.Keys(req.Objects)), shown(got), shown(want))
			}
		}
		count := func(what string, ask func()) {
			hits, misses := m.Counts()
			ask()
			hitsNow, missesNow := m.Counts()
			what = strings.TrimSpace(what + " " + strings.TrimPrefix(q.ContentType, "application/"))
			known[what] += hitsNow - hits
			asked[what] += hitsNow + missesNow - hits - misses
		}
		count(resourceOf(q), func() {
			for _, name := range sample(random, append(slices.Clone(specialNames), literals(q)...)) {
				digits := digitsOf(random)
				// What the memory learns from two names that are alike, it says of the third.
				for _, name := range []string{alike(random, name), alike(random, name), name} {
					same(varied(random, q, name, digits))
				}
			}
		})
		count(resourceOf(q)+" beside webhooks", func() {
			if _, admitted := q.Objects["/admissionregistration.k8s.io/"]; !admitted || resourceOf(q) != "jobs" && random.IntN(4) > 0 {
				return
			}
			for _, name := range []string{"wxyz", "abcd"} { // the webhooks name the latter
				for range 3 {
					same(varied(random, besideWebhooks(q), alike(random, name), 900))
				}
				same(varied(random, besideWebhooks(q), name, 900))
			}
		})
		count("texts of "+resourceOf(q), func() {
			for _, texts := range opaqueTexts {
				digits := digitsOf(random)
				for range 4 {
					if req := withTexts(t, random, varied(random, q, "abcd", digits), texts); req != nil { // else its kind takes no text as it is
						same(req)
					}
				}
			}
		})
	}
	wanted := []string{
		"widgets json", "texts of configmaps json", "texts of configmaps vnd.kubernetes.protobuf", "texts of jobs json",
		"texts of jobs vnd.kubernetes.protobuf", "jobs beside webhooks json",
	}
	for _, k := range kinds {
		name := k.path[strings.LastIndexByte(k.path, '/')+1:]
		wanted = append(wanted, name+" json")
	}
	for _, want := range wanted {
		if !askedEachTime[strings.TrimSuffix(want, " json")] && known[want] == 0 {
			t.Errorf("%s are asked each time", want)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(asked)) {
		if asked[what] > 0 {
			t.Logf("%s: %d of %d answers from memory", what, known[what], asked[what])
		}
	}
	t.Logf("%d questions", len(questions))
}

// askedEachTime has the kinds whose creates are not remembered by their form: names mean something, time is compared,
// or the question has all other objects of the kind.
var askedEachTime = map[string]bool{
	"services": true, "resourcequotas": true, "priorityclasses": true, "certificatesigningrequests": true, "apiservices": true, "ipaddresses": true,
	"servicecidrs": true, "prioritylevelconfigurations": true, "validatingwebhookconfigurations": true, "mutatingwebhookconfigurations": true,
	"validatingadmissionpolicies": true, "validatingadmissionpolicybindings": true, "mutatingadmissionpolicies": true, "mutatingadmissionpolicybindings": true,
}

// someOf returns some of the questions of each kind and format, of those that create and of others; with FLYBALL_LONG=1
// all of them.
func someOf(t *testing.T, r *rand.Rand, questions []*rules.Request, direct core.Rules) (out []*rules.Request) {
	if os.Getenv("FLYBALL_LONG") != "" {
		return questions
	}
	each := 2
	if tier.InAudit() {
		each = 3
	}
	of := map[string]int{}
	for _, i := range r.Perm(len(questions)) {
		q := questions[i]
		if of[fmt.Sprint(resourceOf(q), q.ContentType, true)] == each && of[fmt.Sprint(resourceOf(q), q.ContentType, false)] == each {
			continue
		}
		answer, err := direct(q)
		if err != nil {
			t.Fatal(err)
		}
		if k := fmt.Sprint(resourceOf(q), q.ContentType, answer.Code == http.StatusCreated); of[k] < each {
			of[k]++
			out = append(out, q)
		}
	}
	return out
}

// besideWebhooks returns a question of a server that has webhooks for some Pods, Jobs and ConfigMaps, by their names as
// labels, too.
func besideWebhooks(q *rules.Request) *rules.Request {
	out := *q
	out.Objects = maps.Clone(q.Objects)
	for i, of := range []string{
		`"namespaceSelector":{"matchLabels":{"time":"x"}},"objectSelector":{}`,
		`"namespaceSelector":{},"objectSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["abcd"]}]}`,
	} {
		name := fmt.Sprintf("hooks-%d", i)
		out.Objects["/admissionregistration.k8s.io/validatingwebhookconfigurations/"+name] = json.RawMessage(`{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1",` +
			`"metadata":{"name":"` + name + `","uid":"6c1d8a52-8c1d-4e6f-9a0b-123456789abc","resourceVersion":"17","generation":1,"creationTimestamp":"2026-11-25T12:00:00Z"},` +
			`"webhooks":[{"name":"a.example.com","clientConfig":{"url":"https://127.0.0.1:9/x"},"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"scope":"*"}],` +
			`"failurePolicy":"Fail","matchPolicy":"Equivalent",` + of + `,"sideEffects":"None","timeoutSeconds":10,"admissionReviewVersions":["v1"]}]}`)
	}
	return &out
}

// digitsOf returns how many digits versions have: 9 for one, 90 for two.
func digitsOf(r *rand.Rand) uint64 { return []uint64{9, 90, 900, 9000, 900_000}[r.IntN(5)] }

// specialNames mean something to some kinds, or are not valid for some.
var specialNames = []string{
	"default", "kubernetes", "kube-root-ca.crt", "system-node-critical", "kube-system", "a", "1", "0a", "10.0.0.1", "1.2.3.4", "a.b.c", "-a", "a-", "A", "a_b", "a..b", "",
	strings.Repeat("a", 52), strings.Repeat("a", 53), strings.Repeat("a", 63), strings.Repeat("b", 64), strings.Repeat("c", 253), strings.Repeat("d", 254), "orders.example.com", "v1.apps",
}

// opaqueTexts mean something somewhere. Those of a group have one length.
var opaqueTexts = [][]string{
	{"a", "1", "0", "-", "{", "|", " "},
	{"512", "101", "---", "v1:", "yes", "abc", "nil"},
	{"true", "null", "0755", "abcd", "a: b", "1e10", "$(A)", "[{}]"},
	{"false", "12345", "24567", "bcdfg", "/data", "k8s: "},
	{"2026-11-25T12:00:00Z", "1999-01-01T00:00:00Z", "kind: ConfigMap     ", "resourceVersion: 512"},
	{"0f3b7a52-8c1d-4e6f-9a0b-123456789abc", "{'apiVersion':'v1','kind':'Secret'}  ", "aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxkISE="},
}

// withTexts returns a create of a ConfigMap with some texts as data, or of a Job with some as annotations; nil for
// another question.
func withTexts(t *testing.T, r *rand.Rand, q *rules.Request, texts []string) *rules.Request {
	var m interface {
		Marshal() ([]byte, error)
		Unmarshal([]byte) error
	}
	data := map[string]string{}
	for _, key := range []string{"first", "second", "third"} {
		data[key] = texts[r.IntN(len(texts))]
	}
	var set func()
	switch resourceOf(q) {
	case "configmaps":
		o := &corev1.ConfigMap{}
		m, set = o, func() { o.Data = data }
	case "jobs":
		o := &batchv1.Job{}
		m, set = o, func() { o.Annotations = data }
	default:
		return nil
	}
	var u runtime.Unknown
	protobuf := strings.HasPrefix(string(q.Body), "k8s\x00")
	if protobuf {
		if err := errors.Join(u.Unmarshal(q.Body[4:]), m.Unmarshal(u.Raw)); err != nil {
			return nil
		}
	} else if json.Unmarshal(q.Body, m) != nil {
		return nil // it is not valid
	}
	set()
	out := *q
	var err error
	if protobuf {
		if u.Raw, err = m.Marshal(); err == nil {
			out.Body, err = u.Marshal()
		}
		out.Body = append([]byte("k8s\x00"), out.Body...)
	} else {
		out.Body, err = json.Marshal(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// sample returns some of the names; with FLYBALL_LONG=1 all of them.
func sample(r *rand.Rand, names []string) []string {
	if os.Getenv("FLYBALL_LONG") != "" {
		return names
	}
	out := []string{"abcd", "1"} // the latter stays what it is: a question that is asked again
	more := 1
	if tier.InAudit() {
		more = 3
	}
	for range more {
		out = append(out, names[r.IntN(len(names))])
	}
	return out
}

// alike returns a random name of the same shape.
func alike(r *rand.Rand, name string) string {
	out := []byte(name)
	for i, c := range out {
		if c >= 'a' && c <= 'z' {
			out[i] = 'a' + byte(r.IntN(26))
		}
	}
	return string(out)
}

// literals returns the strings of a body. A name that equals one could be compared with it.
func literals(req *rules.Request) (out []string) {
	for i, part := range strings.Split(string(req.Body), `"`) {
		if i%2 == 1 && len(part) < 30 && len(out) < 12 {
			out = append(out, part)
		}
	}
	return out
}

// collection matches the path of a collection.
var collection = regexp.MustCompile(`^/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/([^/?]+)$`)

// resourceOf returns the resource of a create; "others" for what is made at another path.
func resourceOf(req *rules.Request) string {
	path, _, _ := strings.Cut(req.URL, "?")
	if m := collection.FindStringSubmatch(path); m != nil {
		return m[1]
	}
	return "others"
}

func shown(a *rules.Answer) string { return strings.ReplaceAll(fmt.Sprintf("%+v", a), "\x00", "0") }

// creations returns the creates of the conformance suite, and some of them again in protobuf.
func creations(t *testing.T, direct func(*rules.Request) (*rules.Answer, error)) (out []*rules.Request) {
	var mu sync.Mutex
	seen := map[string]bool{}
	handler, end, restore := apiserver.Handler(t, func(req *rules.Request) (*rules.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if id := fmt.Sprint(req.URL, string(req.Body), len(req.Objects)); req.Method == http.MethodPost && !seen[id] && len(req.Body) < 1<<16 {
			seen[id] = true
			q := *req
			q.Objects = maps.Clone(req.Objects)
			out = append(out, &q)
		}
		return direct(req)
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	defer end()
	for i, c := range slices.Concat(flows, customCases, casesOf("life"), few(casesOf("creates"))) { // the other ones of kinds create the same
		restore() // policies of one case would be in all questions of the next
		s := &session{t: t, client: server.Client(), url: server.URL, ns: fmt.Sprintf("c-%d", i), names: map[string]string{}}
		s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
		c.run(s)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, q := range slices.Clone(out) {
		if p := inProtobuf(t, q); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// inProtobuf returns a question with body and answer in protobuf; nil for kinds without protobuf.
func inProtobuf(t *testing.T, q *rules.Request) *rules.Request {
	var meta runtime.TypeMeta
	if json.Unmarshal(q.Body, &meta) != nil {
		return nil
	}
	var o interface{ Marshal() ([]byte, error) }
	switch meta.Kind {
	case "Pod":
		o = &corev1.Pod{}
	case "ConfigMap":
		o = &corev1.ConfigMap{}
	case "Secret":
		o = &corev1.Secret{}
	case "Namespace":
		o = &corev1.Namespace{}
	case "Deployment":
		o = &appsv1.Deployment{}
	case "StatefulSet":
		o = &appsv1.StatefulSet{}
	case "Job":
		o = &batchv1.Job{}
	case "Lease":
		o = &coordinationv1.Lease{}
	default:
		return nil
	}
	if json.Unmarshal(q.Body, o) != nil {
		return nil
	}
	out := *q
	raw, err := o.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if out.Body, err = (&runtime.Unknown{TypeMeta: meta, Raw: raw}).Marshal(); err != nil {
		t.Fatal(err)
	}
	out.Body = append([]byte("k8s\x00"), out.Body...)
	out.ContentType, out.Accept = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"
	return &out
}

// varied returns a question with other values. It also has another name, if the body begins with the name.
func varied(r *rand.Rand, q *rules.Request, name string, digits uint64) *rules.Request {
	out := *q
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[r.IntN(16)]
		}
		return string(b)
	}
	uid := func() string { return hex(8) + "-" + hex(4) + "-4" + hex(3) + "-a" + hex(3) + "-" + hex(12) }
	at := func() time.Time { return time.Unix(946_684_800+r.Int64N(2_209_075_200), r.Int64N(1e9)).UTC() }
	out.UID, out.Suffix, out.Now = uid(), hex(5), at().UnixNano()
	out.Version = digits/9 + r.Uint64N(digits)
	out.Objects = maps.Clone(q.Objects)
	for k, text := range out.Objects {
		var o struct {
			Metadata struct{ UID, CreationTimestamp string }
		}
		if (strings.HasPrefix(k, "/core/namespaces/") || strings.HasPrefix(k, "/admissionregistration.k8s.io/")) && json.Unmarshal(text, &o) == nil && o.Metadata.UID != "" {
			out.Objects[k] = json.RawMessage(strings.NewReplacer(o.Metadata.UID, uid(), o.Metadata.CreationTimestamp, at().Format(time.RFC3339)).Replace(string(text)))
		}
	}
	if name == "" {
		return &out
	}
	if q.ContentType == "application/vnd.kubernetes.protobuf" {
		if body := renamed(q.Body, name); body != nil {
			out.Body = body
		}
		return &out
	}
	var o struct{ Metadata struct{ Name string } }
	if json.Unmarshal(q.Body, &o) == nil && o.Metadata.Name != "" {
		quoted, _ := json.Marshal(name)
		out.Body = []byte(strings.Replace(string(q.Body), `"name":"`+o.Metadata.Name+`"`, `"name":`+string(quoted), 1))
	}
	return &out
}

// renamed returns an object in protobuf with another name; nil if the name does not come first in the metadata.
func renamed(body []byte, name string) []byte {
	var u runtime.Unknown
	if u.Unmarshal(body[4:]) != nil || len(name) > 60 {
		return nil
	}
	// field 1, the metadata, has field 1, the name: tag, length, tag, length, text
	raw := u.Raw
	if len(raw) < 5 || raw[0] != 10 || raw[1] > 127 || raw[2] != 10 || int(raw[1])+len(name) > 127 {
		return nil
	}
	old := int(raw[3])
	u.Raw = slices.Concat([]byte{10, raw[1] - byte(old) + byte(len(name)), 10, byte(len(name))}, []byte(name), raw[4+old:])
	out, err := u.Marshal()
	if err != nil {
		return nil
	}
	return append([]byte("k8s\x00"), out...)
}
