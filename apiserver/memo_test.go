package apiserver_test

import (
	"encoding/binary"
	"encoding/json"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/tier"
)

// Answers from memory equal those of rules. The questions are the requests of the conformance suite about one object, as
// JSON and as protobuf, with many times, uids and versions. Without FLYBALL_LONG some questions of each kind, method and
// format are asked.
func TestRememberedAnswersAreThoseOfRules(t *testing.T) {
	t.Parallel() // it mostly waits for the rules
	direct := apiserver.Direct(t)
	random := rand.New(rand.NewPCG(1, 2))
	wanted := []string{
		"POST widgets json", "POST jobs json beside webhooks", "POST configmaps vnd.kubernetes.protobuf", "POST jobs vnd.kubernetes.protobuf", "PUT configmaps json",
		"PUT configmaps vnd.kubernetes.protobuf", "PATCH pods strategic-merge-patch+json", "PATCH deployments apply-patch+yaml", "DELETE configmaps", "GET deployments/scale",
	}
	for _, k := range kinds {
		name := k.path[strings.LastIndexByte(k.path, '/')+1:]
		if name != "certificatesigningrequests" { // their times are compared
			wanted = append(wanted, "POST "+name+" json")
		}
	}
	questions := someOf(t, random, questionsOf(t, direct), direct, wanted)
	if len(questions) < 100 {
		t.Fatalf("%d questions", len(questions))
	}
	known, asked := map[string]uint64{}, map[string]uint64{} // sorts of questions, and what was answered from memory, and in all
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
				t.Fatalf("%s %s %q with %q:\ngot  %s\nwant %s", q.Method, q.URL, req.Body, slices.Sorted(maps.Keys(req.Objects)), shown(got), shown(want))
			}
		}
		count := func(what string, q *rules.Request, digits uint64, times int) {
			hits, misses := m.Counts()
			for range times {
				same(varied(random, q, digits))
			}
			hitsNow, missesNow := m.Counts()
			known[what] += hitsNow - hits
			asked[what] += hitsNow + missesNow - hits - misses
		}
		times := 5
		if slices.Contains(wanted, sortOf(q)) {
			times = 8
		}
		count(sortOf(q), q, 900, times)
		if digits := digitsOf(random); digits != 900 && random.IntN(3) == 0 {
			count(sortOf(q), q, digits, 3)
		}
		if _, admitted := q.Objects["/admissionregistration.k8s.io/"]; admitted && (sortOf(q) == "POST jobs json" || random.IntN(8) == 0) {
			count(sortOf(q)+" beside webhooks", besideWebhooks(q), 900, 5)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(asked)) {
		t.Logf("%s: %d of %d answers from memory", what, known[what], asked[what])
	}
	for _, want := range wanted {
		if known[want] == 0 {
			t.Errorf("%s are asked each time", want)
		}
	}
	t.Logf("%d questions", len(questions))
}

// someOf returns some of the questions of each sort, of those that succeed and of others, and more of the wanted ones; with
// FLYBALL_LONG=1 all of them.
func someOf(t *testing.T, r *rand.Rand, questions []*rules.Request, direct core.Rules, wanted []string) (out []*rules.Request) {
	if os.Getenv("FLYBALL_LONG") != "" {
		return questions
	}
	each := func(q *rules.Request) int {
		switch {
		case tier.InAudit():
			return 5
		case slices.Contains(wanted, sortOf(q)):
			return 2
		}
		return 1
	}
	of := map[string]int{}
	for _, i := range r.Perm(len(questions)) {
		q := questions[i]
		if of[fmt.Sprint(sortOf(q), true)] == each(q) && of[fmt.Sprint(sortOf(q), false)] == each(q) {
			continue
		}
		answer, err := direct(q)
		if err != nil {
			t.Fatal(err)
		}
		if k := fmt.Sprint(sortOf(q), answer.Code < http.StatusBadRequest); of[k] < each(q) {
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

// place matches the path of an object or a collection: its resource and its subresource.
var place = regexp.MustCompile(`^/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/([^/?]+)(?:/[^/?]+(/[^/?]+)?)?$`)

// sortOf returns the method, the resource and subresource, and the format of a question.
func sortOf(req *rules.Request) string {
	path, _, _ := strings.Cut(req.URL, "?")
	what := "others"
	if m := place.FindStringSubmatch(path); m != nil {
		what = m[1] + m[2]
	}
	format, _, _ := strings.Cut(strings.TrimPrefix(req.ContentType, "application/"), ";")
	return strings.TrimSpace(req.Method + " " + what + " " + format)
}

func shown(a *rules.Answer) string { return strings.ReplaceAll(fmt.Sprintf("%+v", a), "\x00", "0") }

// questionsOf returns the questions of the conformance suite about one object, and some of them again in protobuf.
func questionsOf(t *testing.T, direct func(*rules.Request) (*rules.Answer, error)) (out []*rules.Request) {
	var mu sync.Mutex
	seen := map[string]bool{}
	handler, end, restore := apiserver.Handler(t, func(req *rules.Request) (*rules.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		if id := fmt.Sprint(req.Method, req.URL, string(req.Body), len(req.Objects)); req.Collection == nil && !req.Bootstrap && !seen[id] && len(req.Body) < 1<<16 {
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
		if q.Method == http.MethodPost || q.Method == http.MethodPut {
			if p := inProtobuf(t, q); p != nil {
				out = append(out, p)
			}
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

// varied returns a question with other stamps: other uids, versions and times of its objects, here and in its body. Most of
// what was equal stays so, and most times keep their order.
func varied(r *rand.Rand, q *rules.Request, digits uint64) *rules.Request {
	out := *q
	hex := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "0123456789abcdef"[r.IntN(16)]
		}
		return string(b)
	}
	uid := func() string { return hex(8) + "-" + hex(4) + "-4" + hex(3) + "-a" + hex(3) + "-" + hex(12) }
	out.Version = digits/9 + r.Uint64N(digits)
	known := map[string]string{} // stamps, as they stand in a text, and others
	put := func(old, other string) {
		if _, ok := known[old]; !ok {
			known[old] = other
		}
	}
	times := []time.Time{time.Unix(0, q.Now).UTC().Truncate(time.Second)}
	for _, k := range slices.Sorted(maps.Keys(q.Objects)) {
		var o metav1.PartialObjectMetadata
		if json.Unmarshal(q.Objects[k], &o) != nil || o.UID == "" {
			continue
		}
		put(string(o.UID), uid())
		version := out.Version - r.Uint64N(3)
		if o.ResourceVersion == fmt.Sprint(q.Version) {
			version = out.Version
		}
		other := max(version, 1)
		put(`"resourceVersion":"`+o.ResourceVersion+`"`, fmt.Sprintf(`"resourceVersion":"%d"`, other))
		put("\x32"+string(rune(len(o.ResourceVersion)))+o.ResourceVersion, "\x32"+string(rune(len(fmt.Sprint(other))))+fmt.Sprint(other))
		times = append(times, o.CreationTimestamp.Time)
		if o.DeletionTimestamp != nil {
			times = append(times, o.DeletionTimestamp.Time)
		}
		for _, m := range o.ManagedFields {
			if m.Time != nil {
				times = append(times, m.Time.Time)
			}
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	at := time.Unix(946_684_800+r.Int64N(1_500_000_000), 0).UTC()
	for i, old := range times {
		if i > 0 && (!old.Equal(times[i-1]) || r.IntN(20) == 0) && r.IntN(20) > 0 {
			at = at.Add([]time.Duration{time.Second, 7 * time.Second, time.Hour, 9000 * time.Hour}[r.IntN(4)])
		}
		put(old.UTC().Format(time.RFC3339), at.Format(time.RFC3339))
		put(seconds(old), seconds(at))
		if old.Unix() == q.Now/1e9 {
			out.Now = at.UnixNano() + r.Int64N(1e9)
		}
	}
	var pairs []string
	for _, old := range slices.Sorted(maps.Keys(known)) {
		pairs = append(pairs, old, known[old])
	}
	change := strings.NewReplacer(pairs...)
	if out.UID != "" {
		out.UID, out.Suffix = uid(), hex(5)
		if r.IntN(3) > 0 {
			out.Suffix = "b4k2z"
		}
	}
	out.Objects = maps.Clone(q.Objects)
	for k, text := range out.Objects {
		if len(text) > 0 {
			out.Objects[k] = json.RawMessage(change.Replace(string(text)))
		}
	}
	if r.IntN(10) > 0 { // else it is about another state of the object
		out.Body = []byte(change.Replace(string(q.Body)))
	}
	return &out
}

// seconds returns a time as the first field of one in protobuf.
func seconds(at time.Time) string {
	return "\x08" + string(binary.AppendUvarint(nil, uint64(at.Unix())))
}
