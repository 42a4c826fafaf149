package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/planetest"
)

// Each case runs against the API server in memory, with its controllers, and against a real control plane. At its end
// the objects of both are equal, but for values of chance and of the clock.
func TestControllersAsTheRealOnes(t *testing.T) {
	if v := os.Getenv(plane.KubernetesEnv); v != "" {
		t.Skipf("the rules are those of the module's Kubernetes, the real server is %s", v)
	}
	t.Parallel() // it mostly waits for the real server
	real := planetest.Private(t, plane.Options{Progress: os.Stderr})
	memory := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}})
	run := func(t *testing.T, config *rest.Config, url string, c controlledCase, ns string) *session {
		t.Helper()
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: transport}
		t.Cleanup(client.CloseIdleConnections)
		s := &session{t: t, client: client, url: url, real: url == real.URL(), ns: ns, again: soon, names: map[string]string{}}
		s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
		s.await("~/serviceaccounts", `"default"`)
		s.await("/api/v1/nodes", `"node-0"`)
		s.send("PATCH", "/api/v1/nodes/node-0", `{"metadata":{"labels":{"topology.kubernetes.io/zone":"z"}}}`, "Content-Type", mergePatch)
		c.run(s)
		return s
	}
	compare := func(t *testing.T, c controlledCase) {
		talk := func(ns string) string {
			a := run(t, real.RESTConfig(), real.URL(), c, ns)
			b := run(t, memory.RESTConfig(), memory.URL(), c, ns)
			want, got := atRest(a, b, append(slices.Clip(c.ends), eventsPath))
			if len(want) == 0 {
				t.Error("the case leaves nothing")
			}
			return cmp.Diff(strings.Split(strings.Join(want, "\n"), "\n"), strings.Split(strings.Join(got, "\n"), "\n"))
		}
		ns := "run-" + strings.ReplaceAll(c.name, " ", "-")
		d := talk(ns)
		if d != "" { // see repeats
			t.Logf("once more, since they differ:\n%s", d)
			d = talk(ns + "-again")
		}
		if d != "" {
			t.Errorf("(-real +memory):\n%s", d)
		}
	}
	t.Run("together", func(t *testing.T) {
		for _, c := range slices.Concat(controlledCases, applicationCases) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				compare(t, c)
			})
		}
	})
	for _, c := range claimCases { // they change nodes, and look at all volumes
		t.Run(c.name, func(t *testing.T) { compare(t, c) })
	}
}

// atRest reads the collections of both until they are equal and stay so for a while: on a busy machine controllers may
// take long for their last steps. When it has looked long enough it returns the collections as they are.
func atRest(real, memory *session, paths []string) (want, got []string) {
	real.t.Helper()
	read := func(s *session) (out []string) {
		for _, path := range paths {
			out = append(out, s.objects(path)...)
		}
		return out
	}
	since := time.Now()
	real.looks(func() bool { // nothing announces that nothing more comes
		w, g := read(real), read(memory)
		if !slices.Equal(w, g) || !slices.Equal(w, want) {
			since = time.Now()
		}
		want, got = w, g
		return time.Since(since) > 500*time.Millisecond
	})
	return want, got
}

// controlledCase is a conversation, and the collections that are compared at its end.
type controlledCase struct {
	name string
	run  func(*session)
	ends []string
}

// objects returns the objects of a collection as text, sorted, without values of chance and of the clock.
func (s *session) objects(path string) []string {
	s.t.Helper()
	if path == eventsPath {
		return s.told()
	}
	_, _, text := s.send("GET", s.path(path), "")
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(text, &list); err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, o := range list.Items {
		hideChance(o)
		text, err := json.MarshalIndent(o, "", "  ")
		if err != nil {
			s.t.Fatal(err)
		}
		one := &session{t: s.t, names: map[string]string{}}
		shown := chosen.ReplaceAllString(one.normal(text), "$1-?????")
		if strings.Contains(shown, `"type": "Recreate"`) {
			shown = progressed.ReplaceAllString(shown, "${1}NAME")
		}
		out = append(out, path+"\n"+shown)
	}
	slices.Sort(out)
	return out
}

// chosen matches names by chance in other objects: that of a Job by its time, and that of a Pod in a message.
var chosen = regexp.MustCompile(`\b(often|policy)-[a-z0-9]{5,8}\b`)

// progressed matches the message of a Deployment about its last ReplicaSet. After a conflict the real controller may
// leave the message about the ReplicaSet before.
var progressed = regexp.MustCompile(`(ReplicaSet \\"web-)[a-z0-9]+`)

// hideChance removes the values of an object that differ from run to run.
func hideChance(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			hideChance(x)
		}
		slices.SortStableFunc(v, func(a, b any) int { // conditions
			return strings.Compare(typeOf(a), typeOf(b))
		})
	case map[string]any:
		if _, slice := v["addressType"]; slice { // how often it was written depends on which changes are seen together
			delete(v["metadata"].(map[string]any), "generation")
		}
		for key, x := range v {
			switch key {
			case "managedFields", "resourceVersion":
				delete(v, key)
			case "serviceAccount", "serviceAccountName", "volumes", "volumeMounts": // those of the service account
				delete(v, key)
			case "ca.crt":
				v[key] = "certificates"
			case batchv1.CronJobScheduledTimestampAnnotation:
				v[key] = "a time"
			case "annotations":
				hideChance(x)
				delete(x.(map[string]any), corev1.EndpointsLastChangeTriggerTime) // it depends on which changes are seen together
				if len(x.(map[string]any)) == 0 {
					delete(v, key)
				}
			case "uid", "podIP", "ip", "hostIP", "controller-uid", "batch.kubernetes.io/controller-uid":
				v[key] = "chance"
			case "addresses", "notReadyAddresses", "endpoints", "subsets": // subsets are in the order of a hash of their addresses
				hideAddresses(x)
			default:
				hideChance(x)
			}
		}
	}
}

// hideAddresses replaces addresses, and sorts the lists that have them.
func hideAddresses(v any) {
	list, _ := v.([]any)
	for i, x := range list {
		if _, ok := x.(string); ok {
			list[i] = "an address"
		}
		hideChance(x)
	}
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

func typeOf(v any) string {
	m, _ := v.(map[string]any)
	text, _ := m["type"].(string)
	return text
}

// awaitCount waits until a text occurs n times in an answer.
func (s *session) awaitCount(path, text string, n int) {
	s.t.Helper()
	var body []byte
	if !s.looks(func() bool { // both servers are polled alike
		_, _, body = s.send("GET", s.path(path), "")
		return strings.Count(string(body), text) == n
	}) {
		s.t.Fatalf("%s never has %d times %s: %.3000s", s.path(path), n, text, body)
	}
}

// awaitAll waits until one answer has all of the texts.
func (s *session) awaitAll(path string, texts ...string) {
	s.t.Helper()
	s.until(s.path(path)+" has "+strings.Join(texts, " and "), func() bool {
		_, _, body := s.send("GET", s.path(path), "")
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(string(body), text) })
	})
}

const podTemplate = `"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

func webDeployment(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"selector":{"matchLabels":{"app":"web"}},%s}}`, name, spec)
}

const (
	deployments = "/apis/apps/v1/namespaces/NS/deployments"
	replicaSets = "/apis/apps/v1/namespaces/NS/replicasets"
)

var controlledCases = []controlledCase{
	{"deployment", func(s *session) {
		s.send("POST", s.path(deployments), webDeployment("web", `"replicas":2,`+podTemplate))
		s.await(deployments, `"availableReplicas":2`)
		s.await(deployments, `NewReplicaSetAvailable`)
	}, []string{deployments, replicaSets, "~/pods", "~/configmaps", "~/serviceaccounts", "/api/v1/nodes"}},
	{"bare pods", func(s *session) {
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"init"},"spec":{"initContainers":[{"name":"a","image":"i"},{"name":"b","image":"i","restartPolicy":"Always"}],"containers":[{"name":"c","image":"i"},{"name":"d","image":"i"}],"readinessGates":[{"conditionType":"example.com/x"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"never"},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"host"},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"i"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"unscheduled"},"spec":{"nodeSelector":{"a":"b"},"containers":[{"name":"c","image":"i"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"gated"},"spec":{"schedulingGates":[{"name":"example.com/g"}],"containers":[{"name":"c","image":"i"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"gone"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"big"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"memory":"100000Ti"}}}]}}`)
		s.awaitCount("~/pods", `"phase":"Running"`, 4)
		s.awaitCount("~/pods", `"Unschedulable"`, 2)
		s.send("DELETE", s.path("~/pods/gone"), "")
		s.awaitCount("~/pods", `"name":"gone"`, 0)
	}, []string{"~/pods"}},
	{"rollout", func(s *session) {
		s.send("POST", s.path(deployments), webDeployment("web", `"replicas":3,"revisionHistoryLimit":1,`+podTemplate))
		s.await(deployments, `NewReplicaSetAvailable`)
		s.await(deployments, `"availableReplicas":3`)
		for i, image := range []string{"two", "three", "i", "three"} { // the last ones are rolled back to
			s.send("PATCH", s.path(deployments+"/web"), `{"metadata":{"annotations":{"kubernetes.io/change-cause":"`+image+`"}},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"`+image+`"}]}}}}`, "Content-Type", strategic)
			s.awaitCount("~/pods", `"image":"`+image+`","resources"`, 3)
			s.awaitCount("~/pods", `"image":`, 6) // spec and status of the new ones
			s.awaitAll(deployments, fmt.Sprintf(`"observedGeneration":%d,`, i+2), `"replicas":3,"updatedReplicas":3`, `"availableReplicas":3`)
			s.awaitCount(replicaSets, `"ownerReferences"`, 2) // the history is as short as it shall be
		}
		s.send("PATCH", s.path(deployments+"/web"), `{"spec":{"paused":true,"replicas":5,"template":{"spec":{"containers":[{"name":"c","image":"four"}]}}}}`, "Content-Type", strategic)
		s.await(deployments, `"availableReplicas":5`)
		s.await(deployments, `DeploymentPaused`)
		s.await(deployments, `"observedGeneration":6`)
	}, []string{deployments, replicaSets}},
	{"recreate", func(s *session) {
		s.send("POST", s.path(deployments), webDeployment("web", `"replicas":2,"strategy":{"type":"Recreate"},`+podTemplate))
		s.awaitAll(deployments, `"availableReplicas":2`, `NewReplicaSetAvailable`)
		s.send("PATCH", s.path(deployments+"/web"), `{"spec":{"progressDeadlineSeconds":null,"template":{"spec":{"containers":[{"name":"c","image":"two"}]}}}}`, "Content-Type", strategic)
		s.awaitCount("~/pods", `"image":"two","resources"`, 2)
		s.await(deployments, `"observedGeneration":2`)
		s.await(deployments, `"availableReplicas":2`)
		s.await(deployments, `NewReplicaSetAvailable`)
	}, []string{deployments, replicaSets, "~/pods"}},
	{"adoption", func(s *session) {
		s.send("POST", s.path("~/pods"), `{"metadata":{"name":"orphan","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
		s.await("~/pods/orphan", `"phase":"Running"`)
		s.send("POST", s.path(replicaSets), `{"metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},`+podTemplate+`}}`)
		s.await(replicaSets, `"availableReplicas":2`)
		s.send("PATCH", s.path("~/pods/orphan"), `{"metadata":{"labels":{"app":"other"}}}`, "Content-Type", mergePatch)
		s.awaitCount("~/pods", `"phase":"Running"`, 3)
		s.awaitCount("~/pods", `"ownerReferences"`, 2)
		s.await(replicaSets, `"availableReplicas":2`)
		s.send("DELETE", s.path(replicaSets+"/web?propagationPolicy=Orphan"), "")
		s.awaitCount("~/pods", `"ownerReferences"`, 0)
		s.awaitCount(replicaSets, `"name":"web"`, 0)
	}, []string{replicaSets, "~/pods"}},
	{"replication controller", func(s *session) {
		s.send("POST", s.path("~/replicationcontrollers"), `{"metadata":{"name":"web"},"spec":{"replicas":2,`+podTemplate+`}}`)
		s.await("~/replicationcontrollers", `"availableReplicas":2`)
		s.send("PATCH", s.path("~/replicationcontrollers/web"), `{"spec":{"replicas":1}}`, "Content-Type", mergePatch)
		s.await("~/replicationcontrollers", `"availableReplicas":1`)
		s.await("~/replicationcontrollers", `"observedGeneration":2`)
		s.awaitCount("~/pods", `"phase":"Running"`, 1)
	}, []string{"~/replicationcontrollers", "~/pods"}},
	{"owners", func(s *session) {
		make := func(name, owners string) answer {
			s.send("POST", s.path("~/configmaps"), `{"metadata":{"name":"`+name+`","ownerReferences":[`+owners+`]}}`)
			return s.get("~/configmaps/" + name)
		}
		ref := func(a answer, more string) string {
			return `{"apiVersion":"v1","kind":"ConfigMap","name":"` + a.Metadata.Name + `","uid":"` + a.Metadata.UID + `"` + more + `}`
		}
		one, two, three, four := make("one", ""), make("two", ""), make("three", ""), make("four", "")
		make("of-one", ref(one, ""))
		make("of-one-and-two", ref(one, "")+","+ref(two, ""))
		below := make("of-three", ref(three, `,"blockOwnerDeletion":true`))
		make("of-of-three", ref(below, `,"blockOwnerDeletion":true`))
		make("of-four", ref(four, ""))
		make("of-nobody", `{"apiVersion":"v1","kind":"ConfigMap","name":"nobody","uid":"nobody"}`)
		make("of-another-name", `{"apiVersion":"v1","kind":"ConfigMap","name":"another","uid":"`+two.Metadata.UID+`"}`)
		make("of-another-kind", `{"apiVersion":"v1","kind":"Secret","name":"two","uid":"`+two.Metadata.UID+`"}`)
		make("of-unknown-kind", `{"apiVersion":"example.com/v1","kind":"Thing","name":"a","uid":"a"}`)
		make("of-the-node", `{"apiVersion":"v1","kind":"Node","name":"node-0","uid":"`+s.get("/api/v1/nodes/node-0").Metadata.UID+`"}`)
		make("of-a-node", `{"apiVersion":"v1","kind":"Node","name":"gone","uid":"gone"}`)
		s.send("POST", "/api/v1/persistentvolumes", s.path(`{"metadata":{"name":"NS","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"gone"}]},"spec":{"storageClassName":"NS","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"}}}`)) // no claim asks for it
		s.send("DELETE", s.path("~/configmaps/one"), "")
		s.send("DELETE", s.path("~/configmaps/three?propagationPolicy=Foreground"), "")
		s.send("DELETE", s.path("~/configmaps/four?propagationPolicy=Orphan"), "")
		for _, name := range []string{"of-one", "three", "four", "of-three", "of-of-three", "of-nobody", "of-another-name", "of-another-kind", "of-a-node"} {
			s.awaitCount("~/configmaps", `"name":"`+name+`",`, 0)
		}
		s.awaitCount("~/configmaps", `"name":"one"`, 0) // neither as an object nor in a reference
	}, []string{"~/configmaps", "/api/v1/persistentvolumes?fieldSelector=metadata.name=NS"}},
	{"namespace", func(s *session) {
		s.send("POST", s.path(deployments), webDeployment("web", `"replicas":2,`+podTemplate))
		s.send("POST", s.path("~/configmaps"), `{"metadata":{"name":"held","finalizers":["example.com/a"]}}`)
		s.await(deployments, `"availableReplicas":2`)
		s.send("DELETE", s.path("/api/v1/namespaces/NS"), "")
		s.await("/api/v1/namespaces/NS", "SomeFinalizersRemain")
		s.awaitCount("~/configmaps", `"creationTimestamp"`, 1)
	}, []string{"/api/v1/namespaces?fieldSelector=metadata.name=run-namespace", "~/configmaps", "~/pods", deployments}},
	{"namespace that stays", func(s *session) {
		s.send("POST", s.path("~/configmaps"), `{"metadata":{"name":"held"}}`)
		s.policy("Validating", "kept", onMaps+`,"validations":[{"expression":"request.operation != 'DELETE' || oldObject.metadata.name != 'held'","message":"it is kept"}]`, denies)
		s.send("DELETE", s.path("/api/v1/namespaces/NS"), "")
		s.await("/api/v1/namespaces/NS", "it is kept")
	}, []string{"/api/v1/namespaces?fieldSelector=metadata.name=run-namespace-that-stays"}}, // the real one may keep other maps, too
}
