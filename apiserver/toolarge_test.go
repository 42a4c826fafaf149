package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
)

// bags are custom resources that may have anything.
const (
	bags       = "/apis/NS.example.com/v1/namespaces/NS/bags"
	bagVersion = `{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
		"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`
)

// bag returns a bag with some fields.
func bag(name, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"NS.example.com/v1","kind":"Bag","metadata":{"name":%q},%s}`, name, fields)
}

// filled returns a field with n times a text.
func filled(field, text string, n int) string {
	return fmt.Sprintf(`%q:"%s"`, field, strings.Repeat(text, n))
}

// deploymentOf returns a Deployment whose container has some fields.
func deploymentOf(name, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i",%s}]}}}}`, name, fields)
}

// longKeys returns the data of a ConfigMap below the limit of the kind. Its managed fields are as large again, and too
// large for etcd. The keys are few and long, since what a write takes of the rules grows with their number.
func longKeys() string {
	var keys []string
	for i := range 3600 {
		keys = append(keys, fmt.Sprintf(`"%s-%d":"A"`, strings.Repeat("k", 240), i))
	}
	return `"data":{` + strings.Join(keys, ",") + `}`
}

// messageSize matches the size of a message to etcd. That of an update depends on versions.
var messageSize = regexp.MustCompile(`\(\d+ vs`)

// store sends a large object. It notes the code, the message and the number of managers of the answer, and no data.
func (s *session) store(method, path, body string, header ...string) {
	s.t.Helper()
	code, _, text := s.send(method, s.path(path), strings.ReplaceAll(body, "NS", s.ns), header...)
	var o struct {
		metav1.PartialObjectMetadata
		Reason, Message string
	}
	if err := json.Unmarshal(text, &o); err != nil && o.Message == "" { // an object's status is no text
		s.t.Logf("%.200s: %v", text, err)
	}
	message := o.Message
	if method != "POST" {
		message = messageSize.ReplaceAllString(message, "(N vs")
	}
	s.note("%s %s: %d %q %q, %d managers, generation %d", method, s.hide(s.path(path)), code, o.Reason, s.hide(message), len(o.ManagedFields), o.Generation)
}

// largeCases store objects as large as etcd takes them, and larger ones.
var largeCases = []conformanceCase{
	{"large custom resources", func(s *session) {
		define(s, "bags", "Bag", bagVersion)
		for _, n := range []int{1400, 1550, 1572, 1573, 1900, 2096, 2098, 2200, 2900} {
			name := fmt.Sprint("b", n)
			s.store("POST", bags, bag(name, filled("data", "x", n*1000)))
			s.store("GET", bags+"/"+name, "")
		}
		s.store("POST", bags, bag("edge", filled("data", "x", 1<<20+1<<19-1000)))
		s.store("POST", bags, bag("over", filled("data", "x", 1<<20+1<<19)))
		s.store("POST", bags+"?dryRun=All", bag("dry", filled("data", "x", 2_200_000)))
		s.store("POST", bags, bag("escaped", filled("data", "<", 300_000))) // each takes six bytes
		s.store("POST", bags, strings.Replace(bag("", filled("data", "x", 1_600_000)), `"name":""`, `"generateName":"many-"`, 1))
	}},
	{"custom resources that become large", func(s *session) {
		define(s, "bags", "Bag", bagVersion)
		s.post(bags, bag("a", `"data":"x"`))
		for _, n := range []int{1_600_000, 2_200_000} {
			s.store("PUT", bags+"/a", bag("a", filled("data", "x", n)))
			s.store("PUT", bags+"/a/status", bag("a", `"status":{`+filled("data", "x", n)+`}`))
			for _, kind := range []string{mergePatch, applyPatch} {
				for _, part := range []string{"", "/status"} {
					s.store("PATCH", bags+"/a"+part+"?fieldManager=m", bag("a", filled("new", "x", n)+`,"status":{`+filled("new", "x", n)+`}`), "Content-Type", kind)
				}
			}
			s.store("PUT", bags+"/new", bag("new", filled("data", "x", n)))
			s.store("PATCH", bags+"/new?fieldManager=m", bag("new", filled("data", "x", n)), "Content-Type", applyPatch)
			s.get(bags + "/a")
		}
		s.store("PUT", bags+"/a", bag("a", filled("data", "x", 1_000_000)))
		s.store("PATCH", bags+"/a", `{`+filled("more", "x", 700_000)+`}`, "Content-Type", mergePatch)
		s.store("PATCH", bags+"/a", `[{"op":"copy","from":"/data","path":"/more"}]`, "Content-Type", jsonPatch)
		s.store("PATCH", bags+"/a/status", `{"status":{`+filled("more", "x", 700_000)+`}}`, "Content-Type", mergePatch)
		s.store("PATCH", bags+"/a", `{`+filled("more", "x", 500_000)+`}`, "Content-Type", mergePatch)
		s.store("GET", bags+"/a", "")
		s.delete(bags+"/a?propagationPolicy=Orphan", "")
	}},
	{"large built-in kinds", func(s *session) {
		for i, fields := range []string{
			`"env":[{"name":"A",` + filled("value", "x", 1_400_000) + `}]`,
			`"env":[{"name":"A",` + filled("value", "x", 1_600_000) + `}]`,
			`"env":[{"name":"A",` + filled("value", "x", 2_200_000) + `}]`,
			`"env":[{"name":"A",` + filled("value", "<", 500_000) + `}]`, // 3 MB of JSON
			`"args":["a"` + strings.Repeat(`,"a"`, 450_000) + `]`,        // 1.8 MB of JSON, 1.35 MB of protobuf
			`"args":["a"` + strings.Repeat(`,"a"`, 550_000) + `]`,        // 1.65 MB of protobuf
		} {
			name := fmt.Sprint("d", i)
			s.store("POST", deployments, deploymentOf(name, fields))
			s.store("GET", deployments+"/"+name, "")
		}
		s.store("POST", deployments, deploymentOf("grows", `"env":[{"name":"A","value":"x"}]`))
		s.store("PUT", deployments+"/grows", deploymentOf("grows", `"env":[{"name":"A",`+filled("value", "x", 1_600_000)+`}]`))
		s.store("PATCH", deployments+"/grows", deploymentOf("grows", `"env":[{"name":"B",`+filled("value", "x", 2_200_000)+`}]`), "Content-Type", strategic)
		s.store("GET", deployments+"/grows", "")
		// These are stored as JSON.
		s.store("POST", "/apis/apiregistration.k8s.io/v1/apiservices", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.NS.example.com"},"spec":{"group":"NS.example.com","version":"v1",
			"groupPriorityMinimum":100,"versionPriority":100,"service":{"namespace":"NS","name":"s"},`+filled("caBundle", "QUFB", 430_000)+`}}`) // 1.3 MB
		s.store("POST", definitions, definition("bags", "Bag", strings.Replace(bagVersion, `"type":"object",`, `"type":"object",`+filled("description", "x", 1_600_000)+`,`, 1)))
	}},
	{"managed fields that are too large", func(s *session) {
		keys := longKeys()
		apply := func(name string) {
			s.store("PATCH", "~/configmaps/"+name+"?fieldManager=m", oddMap(`"name":"`+name+`"`, `"data":{"k":"v"}`), "Content-Type", applyPatch)
		}
		s.store("POST", "~/configmaps", oddMap(`"name":"created"`, keys))
		apply("created")
		s.store("POST", "~/configmaps", oddMap(`"name":"updated"`, `"data":{"k":"v"}`))
		s.store("PUT", "~/configmaps/updated", oddMap(`"name":"updated"`, keys))
		apply("updated")
		s.store("POST", "~/configmaps", oddMap(`"name":"patched"`, `"data":{"k":"v"}`))
		s.store("PATCH", "~/configmaps/patched", `{`+keys+`}`, "Content-Type", mergePatch)
		apply("patched")
		s.store("PATCH", "~/configmaps/applied?fieldManager=m", oddMap(`"name":"applied"`, keys), "Content-Type", applyPatch)
		for _, name := range []string{"created", "updated", "patched", "applied"} {
			s.store("GET", "~/configmaps/"+name, "")
		}
	}},
}

// largeReviewCases are about what is asked again when a large object is tried without its managed fields.
var largeReviewCases = []conformanceCase{
	{"webhooks about a large object", func(s *session) {
		define(s, "bags", "Bag", bagVersion)
		h := newHooks(s)
		h.on("/m", allow())
		h.on("/v", allow())
		on := func(operation string) string {
			return `"rules":[{"apiGroups":["NS.example.com"],"apiVersions":["v1"],"operations":["` + operation + `"],"resources":["bags"]}]`
		}
		h.configure("Mutating", "one", h.hook("/m", on("CREATE")))
		h.configure("Validating", "two", h.hook("/v", on("UPDATE")))
		// The keys of a custom resource are as long as one likes. So few of them fill the managed fields, and the server
		// has little work with them: each write is tried twice, and each try asks a webhook.
		var keys []string
		for i := range 12 {
			keys = append(keys, fmt.Sprintf(`"%s-%d":"A"`, strings.Repeat("k", 75_000), i))
		}
		large := `"data":{` + strings.Join(keys, ",") + `}`
		s.store("POST", bags, bag("a", large))
		h.asked()
		s.post(bags, bag("b", `"data":{"k":"v"}`))
		h.asked()
		s.store("PATCH", bags+"/b", `{`+large+`}`, "Content-Type", mergePatch)
		h.asked()
	}},
	{"quotas of large objects", func(s *session) {
		hard := `"hard":{"configmaps":"5","count/deployments.apps":"5"}`
		s.post("~/resourcequotas", `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{`+hard+`}}`)
		s.patch(mergePatch, "~/resourcequotas/q/status", `{"status":{`+hard+`,"used":{"configmaps":"5","count/deployments.apps":"0"}}}`)
		s.know("~/configmaps", configMapOf("x"), "exceeded quota")
		s.patch(mergePatch, "~/resourcequotas/q/status", `{"status":{`+hard+`,"used":{"configmaps":"0","count/deployments.apps":"0"}}}`)
		s.store("POST", "~/configmaps", oddMap(`"name":"a"`, longKeys()))
		s.get("~/resourcequotas/q")
		s.store("POST", deployments, deploymentOf("d", `"env":[{"name":"A",`+filled("value", "x", 1_600_000)+`}]`))
		s.get("~/resourcequotas/q")
	}},
}

// A write that is too large takes no version. One that is tried again without its managed fields takes one.
func TestTooLargeWritesTakeNoVersion(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	client := httpClient(t, s.RESTConfig())
	version := func(path, body string, code int) (at int) {
		t.Helper()
		resp, err := client.Post(s.URL()+path, jsonType, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var o metav1.PartialObjectMetadata
		if err := json.NewDecoder(resp.Body).Decode(&o); err != nil && code < 300 || resp.StatusCode != code {
			t.Fatalf("POST %s: %s, %v", path, resp.Status, err)
		}
		if code < 300 {
			if at, err = strconv.Atoi(o.ResourceVersion); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	const maps = "/api/v1/namespaces/default/configmaps"
	first := version(maps, oddMap(`"name":"a"`, `"data":{}`), http.StatusCreated)
	version("/apis/apps/v1/namespaces/default/deployments", deploymentOf("d", `"env":[{"name":"A",`+filled("value", "x", 1_600_000)+`}]`), http.StatusInternalServerError)
	if large := version(maps, oddMap(`"name":"b"`, longKeys()), http.StatusCreated); large != first+1 {
		t.Errorf("version %d after %d, want the next one", large, first)
	}
	if last := version(maps, oddMap(`"name":"c"`, `"data":{}`), http.StatusCreated); last != first+2 {
		t.Errorf("version %d two writes after %d", last, first)
	}
}
