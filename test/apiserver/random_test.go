package apiserver_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/test/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// callsEnv is the environment variable with the number of calls of TestRandomCallsAreAnsweredAlike. It is
// 100,000 with FLYBALL_LONG=1, and a few without.
const callsEnv = "FLYBALL_CALLS"

// callsInARow is the most calls of one sequence. Each sequence has a namespace of its own.
const callsInARow = 40

// Both servers answer the same random calls alike. What fails is made as short as possible, and printed call by
// call.
func TestRandomCallsAreAnsweredAlike(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	wanted := 300
	if os.Getenv("FLYBALL_LONG") != "" {
		wanted = 100_000
	}
	if text := os.Getenv(callsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", callsEnv, err)
		}
		wanted = n
	}
	real := planetest.Private(t, plane.Options{Bare: true, Progress: os.Stderr})
	memory := apiserver.Start(t, apiserver.Options{})
	clients := [2]*http.Client{}
	urls := [2]string{real.URL(), memory.URL()}
	for i, config := range []*rest.Config{real.RESTConfig(), memory.RESTConfig()} {
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		clients[i] = &http.Client{Transport: transport}
		defer clients[i].CloseIdleConnections()
	}
	sequences, calls := 0, 0
	check := func(r *rapid.T) {
		sequences++
		var pair [2]*world
		for i := range pair {
			s := &session{t: t, client: clients[i], url: urls[i], ns: fmt.Sprintf("random-%d", sequences), names: map[string]string{}}
			s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
			pair[i] = &world{session: s, seen: map[string][]answer{}}
		}
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(randomKinds), 1, 2, func(k randomKind) string { return k.path }).Draw(r, "kinds")
		for range rapid.IntRange(1, callsInARow).Draw(r, "calls") {
			c := drawCall(r, rapid.SampledFrom(kinds).Draw(r, "kind"))
			for _, w := range pair {
				c.run(w)
			}
			calls++
			compare(r, c.name, pair)
		}
		for _, w := range pair {
			w.watches(kinds)
		}
		compare(r, "what watches have seen", pair)
		for _, w := range pair {
			for _, k := range kinds {
				w.send("DELETE", w.path(k.path), "")
			}
		}
	}
	for round := 1; calls < wanted && !t.Failed(); round++ {
		if wanted < 100_000 { // the short form is the same each time
			if err := flag.Set("rapid.seed", strconv.Itoa(round)); err != nil {
				t.Fatal(err)
			}
		}
		rapid.Check(t, check)
	}
	t.Logf("%d calls in %d sequences", calls, sequences)
}

// compare compares what both sessions have written down since the last time.
func compare(r *rapid.T, name string, pair [2]*world) {
	a, b := pair[0].out, pair[1].out
	pair[0].out, pair[1].out = nil, nil
	if d := gocmp.Diff(strings.Split(strings.Join(a, "\n"), "\n"), strings.Split(strings.Join(b, "\n"), "\n")); d != "" {
		r.Fatalf("%s (-real +memory):\n%s", name, d)
	}
	r.Logf("%s: %.80s", name, strings.Join(a, " | "))
}

// world is a session and what it remembers of the objects that it has seen.
type world struct {
	*session
	seen map[string][]answer // by path, in order
}

// remember keeps an answer that is an object.
func (w *world) remember(path string, a answer) {
	if a.Metadata.ResourceVersion != "" && a.Metadata.UID != "" {
		w.seen[path] = append(w.seen[path], a)
	}
}

// last returns the n-th last answer about an object; the zero answer if there is none.
func (w *world) last(path string, n int) answer {
	all := w.seen[path]
	if len(all) == 0 {
		return answer{}
	}
	return all[max(0, len(all)-1-n)]
}

// watches has each kind watched from the first version that the world remembers of it, to the deletion of an object
// that is created now. The deletion of an object with finalizers, as claims have, is a change.
func (w *world) watches(kinds []randomKind) {
	for _, k := range kinds {
		var first string
		for path, all := range w.seen {
			if v := all[0].Metadata.ResourceVersion; strings.HasPrefix(path, k.path+"/") && (first == "" || older(v, first)) {
				first = v
			}
		}
		if first == "" {
			continue
		}
		end := w.send2("POST", w.path(k.path), strings.ReplaceAll(k.body("the-end"), "NS", w.ns))
		w.delete(k.path+"/the-end", `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
		if end != http.StatusCreated {
			continue
		}
		resp := w.request("GET", w.path(k.path+"?watch=1&timeoutSeconds=60&resourceVersion="+first), "")
		d := json.NewDecoder(resp.Body)
		for last := false; !last; {
			var e struct {
				Type   string
				Object json.RawMessage
			}
			if err := d.Decode(&e); err != nil {
				w.note("the watch ended: %v", err)
				break
			}
			var a answer
			_ = json.Unmarshal(e.Object, &a) // a failure has no name
			last = a.Metadata.Name == "the-end" && e.Type != "ADDED"
			w.note("%s\n%s", e.Type, w.normal(e.Object))
		}
		resp.Body.Close()
	}
}

// send2 sends a request and returns its code.
func (w *world) send2(method, path, body string) int {
	code, _, _ := w.send(method, path, body)
	return code
}

func older(a, b string) bool { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0 }

// call is one request, the same for both servers but for what they told before.
type call struct {
	name string
	run  func(*world)
}

// randomKind is a kind of random calls. A change is a merge patch of it.
type randomKind struct {
	path, kind, rest string
	changes          []string
	// subresources are those that may be patched, besides the object itself.
	subresources []string
}

const randomTemplate = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

var randomKinds = []randomKind{
	{"~/configmaps", "v1 ConfigMap", `"data":{"a":"b"}`,
		[]string{`{"data":{"a":"c"}}`, `{"data":{"a":null,"x":"y"}}`, `{"immutable":true}`, `{"binaryData":{"z":"AAEC"}}`, `{"binaryData":{"a":"AAEC"}}`}, nil},
	{"~/secrets", "v1 Secret", `"stringData":{"a":"b"}`,
		[]string{`{"stringData":{"a":"c"}}`, `{"data":{"b":"AAEC"}}`, `{"data":{"b":"?"}}`, `{"type":"kubernetes.io/tls"}`, `{"immutable":true}`}, nil},
	{"~/services", "v1 Service", `"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}`,
		[]string{`{"spec":{"type":"NodePort"}}`, `{"spec":{"type":"ExternalName","externalName":"x.example"}}`, `{"spec":{"type":"ClusterIP"}}`, `{"spec":{"ports":[{"port":81,"name":"x"}]}}`, `{"spec":{"clusterIP":"None"}}`, `{"spec":{"sessionAffinity":"ClientIP"}}`}, []string{"status"}},
	{"~/pods", "v1 Pod", podBody,
		[]string{`{"spec":{"containers":[{"name":"c","image":"j"}]}}`, `{"spec":{"activeDeadlineSeconds":5}}`, `{"spec":{"nodeName":"n"}}`, `{"spec":{"priority":3}}`, `{"status":{"phase":"Running"}}`, `{"status":{"phase":"Failed","reason":"R"}}`, `{"spec":{"tolerations":[{"key":"x","operator":"Exists"}]}}`}, []string{"status", "resize"}},
	{"~/persistentvolumeclaims", "v1 PersistentVolumeClaim", `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}`,
		[]string{`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`, `{"spec":{"volumeName":"v"}}`, `{"status":{"phase":"Bound"}}`}, []string{"status"}},
	{"~/serviceaccounts", "v1 ServiceAccount", `"automountServiceAccountToken":false`, []string{`{"automountServiceAccountToken":true}`, `{"secrets":[{"name":"s"}]}`}, nil},
	{"/apis/apps/v1/namespaces/NS/deployments", "apps/v1 Deployment", `"spec":{` + randomTemplate + `}`,
		[]string{`{"spec":{"replicas":3}}`, `{"spec":{"replicas":-1}}`, `{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`, `{"spec":{"strategy":{"type":"Recreate"}}}`, `{"spec":{"paused":true}}`, `{"status":{"replicas":2,"observedGeneration":1}}`}, []string{"status", "scale"}},
	{"/apis/apps/v1/namespaces/NS/statefulsets", "apps/v1 StatefulSet", `"spec":{"serviceName":"s",` + randomTemplate + `}`,
		[]string{`{"spec":{"replicas":3}}`, `{"spec":{"serviceName":"t"}}`, `{"spec":{"updateStrategy":{"type":"OnDelete"}}}`, `{"status":{"replicas":2}}`}, []string{"status", "scale"}},
	{"/apis/batch/v1/namespaces/NS/jobs", "batch/v1 Job", `"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}`,
		[]string{`{"spec":{"parallelism":2}}`, `{"spec":{"completions":2}}`, `{"spec":{"suspend":true}}`, `{"status":{"active":1}}`}, []string{"status"}},
	{"/apis/coordination.k8s.io/v1/namespaces/NS/leases", "coordination.k8s.io/v1 Lease", `"spec":{"holderIdentity":"h"}`,
		[]string{`{"spec":{"holderIdentity":"i","leaseDurationSeconds":5}}`, `{"spec":{"leaseDurationSeconds":0}}`, `{"spec":{"leaseTransitions":-1}}`}, nil},
	{"/apis/networking.k8s.io/v1/namespaces/NS/networkpolicies", "networking.k8s.io/v1 NetworkPolicy", `"spec":{"podSelector":{}}`,
		[]string{`{"spec":{"policyTypes":["Egress"]}}`, `{"spec":{"ingress":[{"ports":[{"port":1,"endPort":0}]}]}}`}, nil},
	{"/apis/policy/v1/namespaces/NS/poddisruptionbudgets", "policy/v1 PodDisruptionBudget", `"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}`,
		[]string{`{"spec":{"minAvailable":"50%"}}`, `{"spec":{"maxUnavailable":1}}`, `{"status":{"observedGeneration":1}}`}, []string{"status"}},
	{"/apis/autoscaling/v2/namespaces/NS/horizontalpodautoscalers", "autoscaling/v2 HorizontalPodAutoscaler", `"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"d"}}`,
		[]string{`{"spec":{"minReplicas":2}}`, `{"spec":{"minReplicas":7}}`, `{"spec":{"behavior":{"scaleDown":{"stabilizationWindowSeconds":5}}}}`, `{"status":{"currentReplicas":1}}`}, []string{"status"}},
}

func (k randomKind) String() string { return k.kind }

// body returns an object of the kind, with more fields of its metadata.
func (k randomKind) body(name string, metadata ...string) string {
	apiVersion, kind, _ := strings.Cut(k.kind, " ")
	metadata = append([]string{fmt.Sprintf(`"name":%q`, name)}, metadata...)
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{%s},%s}`, apiVersion, kind, strings.Join(metadata, ","), k.rest)
}

// randomMetadata are fields and patches of metadata.
var randomMetadata = []string{
	`"labels":{"l":"1"}`, `"labels":{"l":"2","m":""}`, `"labels":{"not valid":"x"}`, `"annotations":{"n":"o"}`, `"finalizers":["example.com/f"]`, `"finalizers":["nonsense"]`,
	`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"the-uid-of-an-owner"}]`, `"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"the-uid-of-an-owner","controller":true,"blockOwnerDeletion":true}]`,
	`"finalizers":null`, `"labels":null`, `"ownerReferences":null`, `"generation":7`, `"resourceVersion":"5"`, `"uid":"the-uid-of-another"`, `"creationTimestamp":"2020-01-01T00:00:00Z"`, `"deletionTimestamp":"2020-01-01T00:00:00Z"`, `"managedFields":[]`,
}

// drawCall draws one call.
func drawCall(r *rapid.T, k randomKind) call {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(r, label) }
	name := pick("name", "a", "b", "c")
	one := k.path + "/" + name
	query := pick("query", "", "", "", "?dryRun=All", "?fieldManager=other", "?fieldValidation=Strict")
	switch verb := pick("verb", "create", "create", "create", "generate", "mutant", "get", "list", "put", "put", "stale", "merge", "merge", "change", "change", "json", "strategic", "apply", "apply", "delete", "delete", "collection"); verb {
	case "create":
		body := k.body(name, rapid.SliceOfNDistinct(rapid.SampledFrom(randomMetadata), 0, 2, field).Draw(r, "metadata")...)
		return call{"create " + body, func(w *world) { w.remember(one, w.post(k.path+query, body)) }}
	case "generate":
		body := strings.Replace(k.body(name), `"name"`, `"generateName"`, 1)
		return call{"create " + body, func(w *world) {
			// A name by chance would stand anywhere in a list.
			if a := w.post(k.path+query, body); a.Metadata.Name != "" {
				w.patch(mergePatch, k.path+"/"+a.Metadata.Name, `{"metadata":{"finalizers":null}}`)
				w.delete(k.path+"/"+a.Metadata.Name, `{"gracePeriodSeconds":0,"propagationPolicy":"Background"}`)
			}
		}}
	case "mutant":
		body := mutant(r, k.body(name), k.path != "~/services") // DIFFERENCES.md
		return call{"create " + body, func(w *world) { w.remember(one, w.post(k.path+query, body)) }}
	case "get":
		accept := pick("accept", jsonType, acceptTable, acceptPartial)
		return call{"get", func(w *world) { w.do("GET", one, "", "Accept", accept) }}
	case "list":
		options := pick("options", "", "?labelSelector=l", "?labelSelector=l!=1", "?labelSelector=l+in+(1,2)", "?fieldSelector=metadata.name=a", "?fieldSelector=spec.nodeName=n", "?limit=1", "?limit=2&labelSelector=l",
			"?resourceVersion=0", "?limit=1&resourceVersion=0", "?resourceVersion=1&resourceVersionMatch=Exact", "?resourceVersionMatch=Exact", "?labelSelector=(")
		accept := pick("accept", jsonType, jsonType, acceptTable, acceptPartial)
		return call{"list " + options, func(w *world) {
			a := w.do("GET", k.path+options, "", "Accept", accept)
			for a.Metadata.Continue != "" {
				a = w.do("GET", k.path+options+"&continue="+a.Metadata.Continue, "", "Accept", accept)
			}
		}}
	case "put", "stale":
		back := 0
		if verb == "stale" {
			back = rapid.IntRange(1, 3).Draw(r, "back")
		}
		metadata := pick("metadata", randomMetadata...)
		unconditional := rapid.Bool().Draw(r, "unconditional")
		return call{fmt.Sprintf("put the %d last of %s with %s", back, one, metadata), func(w *world) {
			was := w.last(one, back)
			w.remember(one, w.put(one+query, changed(was.raw, metadata, unconditional)))
		}}
	case "merge":
		body := `{"metadata":{` + pick("metadata", randomMetadata...) + `}}`
		return call{"merge " + body, func(w *world) { w.remember(one, w.patch(mergePatch, one+query, body)) }}
	case "change":
		body, at := pick("change", k.changes...), pick("at", append([]string{""}, k.subresources...)...)
		if at != "" {
			at = "/" + at
		}
		return call{"merge " + one + at + " " + body, func(w *world) { w.remember(one, w.patch(mergePatch, one+at+query, body)) }}
	case "json":
		body := pick("patch", `[{"op":"add","path":"/metadata/labels","value":{"l":"3"}}]`, `[{"op":"remove","path":"/metadata/labels"}]`, `[{"op":"test","path":"/metadata/name","value":"a"},{"op":"add","path":"/metadata/annotations","value":{"t":"u"}}]`,
			`[{"op":"replace","path":"/kind","value":"Nothing"}]`, `[{"op":"add","path":"/nothing/x","value":1}]`, `[{"op":"nonsense"}]`, `[]`, `{}`)
		return call{"json patch " + body, func(w *world) { w.remember(one, w.patch(jsonPatch, one+query, body)) }}
	case "strategic":
		body := pick("patch", `{"metadata":{"finalizers":["example.com/g"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/f"]}}`, `{"metadata":{"labels":{"$patch":"replace","z":"1"}}}`, `{"$patch":"delete"}`, `{"nothing":1}`)
		return call{"strategic patch " + body, func(w *world) { w.remember(one, w.patch(strategic, one+query, body)) }}
	case "apply":
		manager := pick("manager", "m", "n")
		body := k.body(name, rapid.SliceOfNDistinct(rapid.SampledFrom(randomMetadata), 0, 1, field).Draw(r, "metadata")...)
		if rapid.Bool().Draw(r, "small") {
			apiVersion, kind, _ := strings.Cut(k.kind, " ")
			body = fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,%s}}`, apiVersion, kind, name, pick("metadata", randomMetadata...))
		}
		options := "?fieldManager=" + manager + pick("options", "", "&force=true", "&dryRun=All")
		return call{"apply " + options + " " + body, func(w *world) { w.remember(one, w.patch(applyPatch, one+options, body)) }}
	case "delete":
		body := pick("options", "", "", `{"gracePeriodSeconds":0}`, `{"gracePeriodSeconds":5}`, `{"gracePeriodSeconds":-1}`, `{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":"Orphan"}`, `{"propagationPolicy":"Background"}`, `{"propagationPolicy":"Nonsense"}`,
			`{"preconditions":{"uid":"none"}}`, `{"preconditions":{"resourceVersion":"1"}}`, `{"dryRun":["All"]}`, `{"dryRun":["Nonsense"]}`, `{"orphanDependents":true}`)
		return call{"delete " + one + " " + body, func(w *world) { w.remember(one, w.delete(one, body)) }}
	default:
		options := pick("options", "?labelSelector=l", "?labelSelector=l=1", "?fieldSelector=metadata.name=b", "?labelSelector=l&dryRun=All")
		return call{"delete collection " + options, func(w *world) {
			// In which order the real server deletes is chance: the next call tells what it left.
			w.note("%d", w.send2("DELETE", w.path(k.path+options), ""))
			w.get(k.path)
			maps.DeleteFunc(w.seen, func(path string, _ []answer) bool { return strings.HasPrefix(path, k.path+"/") })
		}}
	}
}

// field returns the name of a field of metadata.
func field(text string) string { name, _, _ := strings.Cut(text, ":"); return name }

// changed returns an object with other metadata, and if unconditional without its version.
func changed(raw, metadata string, unconditional bool) string {
	var object, more map[string]any
	if json.Unmarshal([]byte(raw), &object) != nil || json.Unmarshal([]byte("{"+metadata+"}"), &more) != nil {
		return "{}"
	}
	m, _ := object["metadata"].(map[string]any)
	if m == nil {
		return "{}"
	}
	if unconditional {
		delete(m, "resourceVersion")
	}
	maps.Copy(m, more)
	text, err := json.Marshal(object)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// mutant returns an object with one field that is something else, of its metadata only if that is wanted.
func mutant(r *rapid.T, body string, metadata bool) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(body), &object); err != nil {
		r.Fatal(err)
	}
	type place struct {
		in  map[string]any
		key string
	}
	var places []place
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if key == "metadata" && !metadata {
					continue
				}
				places = append(places, place{v, key})
				walk(v[key])
			}
		}
	}
	walk(object)
	at := rapid.SampledFrom(places).Draw(r, "place")
	switch value := rapid.SampledFrom([]string{"gone", "new", "null", `""`, `"x"`, `"X y"`, "-1", "0", "1.5", "true", "[]", "{}", `[1]`, `{"x":"y"}`}).Draw(r, "value"); value {
	case "gone":
		delete(at.in, at.key)
	case "new":
		at.in["unheard"] = "of"
	default:
		at.in[at.key] = json.RawMessage(value)
	}
	text, err := json.Marshal(object)
	if err != nil {
		r.Fatal(err)
	}
	return string(text)
}
