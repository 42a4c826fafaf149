package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
)

func create[T any, P interface {
	*T
	object.Object
}](t *testing.T, c *client.Live, o P) *T {
	t.Helper()
	made, err := client.Create(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// listAll returns the objects of a list.
func listAll[T any, P object.Ptr[T]](t *testing.T, c *client.Live, opts ...client.ListOption) (out []P) {
	t.Helper()
	for o, err := range client.List[T, P](t.Context(), c, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// sized is a Deployment of a size whose Pods have annotations for the kubelet.
func sized(name string, replicas int32, annotations ...string) *appsv1.Deployment {
	d := deployment(name)
	d.Spec.Replicas, d.Spec.Template.Annotations = &replicas, map[string]string{}
	for _, a := range annotations {
		key, value, _ := strings.Cut(a, "=")
		d.Spec.Template.Annotations["kubelet.flyball.dev/"+key] = value
	}
	return d
}

// All Pods of a large Deployment run, and are gone when it is deleted: a thousand in the audit.
func TestManyPods(t *testing.T) {
	n := int32(100)
	if tier.InAudit() {
		n = 1000
	}
	ctx := t.Context()
	s, c := controlled(t, "*")
	began := time.Now()
	d := create(t, c, sized("web", n))
	settle(t, s)
	got, err := client.Get[appsv1.Deployment](ctx, c, object.KeyOf(d))
	if err != nil || got.Status.AvailableReplicas != n {
		t.Fatalf("%+v, %v", got.Status, err)
	}
	running := time.Since(began)
	began = time.Now()
	if err := client.Delete(ctx, c, d); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	if pods := listAll[corev1.Pod](t, c); len(pods) != 0 {
		t.Fatalf("%d Pods are left", len(pods))
	}
	t.Logf("%d Pods run after %v, and are gone after %v", n, running.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// Controllers have the permissions that they need, and no others.
func TestControllersWithRBAC(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}, RBAC: true})
	c := newClient(t, s)
	d := create(t, c, sized("web", 2))
	settle(t, s)
	d, err := client.Get[appsv1.Deployment](t.Context(), c, object.KeyOf(d))
	if err != nil || d.Status.AvailableReplicas != 2 {
		t.Fatalf("%+v, %v", d.Status, err)
	}
	m, err := client.Get[corev1.ConfigMap](t.Context(), c, object.Key{Namespace: "default", Name: "kube-root-ca.crt"})
	if err != nil || !strings.Contains(m.Data["ca.crt"], "BEGIN CERTIFICATE") {
		t.Errorf("%v, %v", m, err)
	}
	create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}})
	settle(t, s)
	if err := client.Delete(t.Context(), c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}); err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), c, d); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	if pods := listAll[corev1.Pod](t, c); len(pods) != 0 {
		t.Errorf("%d Pods are left", len(pods))
	}
	if _, err := client.Get[corev1.Namespace](t.Context(), c, object.Key{Name: "gone"}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}

// With one seed, and the same requests at the same times, controllers write the same.
func TestControllersAreDeterministic(t *testing.T) {
	talk := func() (out []string) {
		at := time.Unix(1_700_000_000, 0)
		s := apiserver.Start(t, apiserver.Options{Now: func() time.Time { return at }, Seed: "x", Controllers: []string{"*"}})
		c := &session{t: t, client: &http.Client{}, url: s.URL(), ns: "default", names: map[string]string{}}
		defer c.client.CloseIdleConnections()
		do := func(method, path, body string, header ...string) {
			c.send(method, path, body, header...)
			settle(t, s)
		}
		const path = "/apis/apps/v1/namespaces/default/deployments"
		do("POST", path, webDeployment("web", `"replicas":5,`+podTemplate))
		do("PATCH", path+"/web", `{"spec":{"replicas":3,"template":{"spec":{"containers":[{"name":"c","image":"two"}]}}}}`, "Content-Type", strategic)
		do("POST", "/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
		do("DELETE", "/api/v1/namespaces/other", "")
		for _, collection := range []string{path, "/apis/apps/v1/replicasets", "/api/v1/pods", "/api/v1/namespaces", "/api/v1/nodes"} {
			_, _, text := c.send("GET", collection, "")
			out = append(out, string(text))
		}
		return out
	}
	one, two := talk(), talk()
	for i := range one {
		if one[i] != two[i] {
			t.Errorf("answer %d:\n%s\n%s", i, one[i], two[i])
		}
	}
	if !strings.Contains(one[2], `"Running"`) {
		t.Errorf("no Pod runs: %s", one[2])
	}
}

// A namespace goes with all that is in it, of whatever kind, when its finalizers let it.
func TestNamespaceGoes(t *testing.T) {
	ctx := t.Context()
	dir := folder(t, map[string]string{"toys.yaml": toyCRD, "objects.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: gone}
---
apiVersion: example.com/v1
kind: Toy
metadata: {name: a, namespace: gone, finalizers: [example.com/hold]}
---
apiVersion: v1
kind: Secret
metadata: {name: a, namespace: gone}
`})
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}, CRDs: filepath.Join(dir, "toys.yaml")})
	c := newClient(t, s)
	s.Apply(filepath.Join(dir, "objects.yaml"))
	d := sized("web", 2)
	d.Namespace = "gone"
	create(t, c, d)
	settle(t, s)
	if err := client.Delete(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	key := object.Key{Name: "gone"}
	ns, err := client.Get[corev1.Namespace](ctx, c, key)
	if err != nil {
		t.Fatal(err)
	}
	remaining := ""
	for _, x := range ns.Status.Conditions {
		if x.Status == corev1.ConditionTrue {
			remaining += x.Message + "\n"
		}
	}
	if want := "Some resources are remaining: toys.example.com has 1 resource instances\nSome content in the namespace has finalizers remaining: example.com/hold in 1 resource instances\n"; remaining != want {
		t.Errorf("got %s", remaining)
	}
	talk := &session{t: t, client: &http.Client{}, url: s.URL(), ns: "gone", names: map[string]string{}}
	defer talk.client.CloseIdleConnections()
	talk.send("PATCH", "/apis/example.com/v1/namespaces/gone/toys/a", `{"metadata":{"finalizers":null}}`, "Content-Type", mergePatch)
	settle(t, s)
	if _, err := client.Get[corev1.Namespace](ctx, c, key); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v", err)
	}
}

// A garbage collector knows kinds that are defined, and cluster-wide owners.
func TestGarbageOfCustomOwners(t *testing.T) {
	dir := folder(t, map[string]string{"toys.yaml": toyCRD, "toy.yaml": "apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: a, namespace: default}\n"})
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"garbagecollector"}, CRDs: filepath.Join(dir, "toys.yaml")})
	c := newClient(t, s)
	s.Apply(filepath.Join(dir, "toy.yaml"))
	talk := &session{t: t, client: &http.Client{}, url: s.URL(), ns: "default", names: map[string]string{}}
	defer talk.client.CloseIdleConnections()
	uid := talk.get("/apis/example.com/v1/namespaces/default/toys/a").Metadata.UID
	for name, ref := range map[string]metav1.OwnerReference{
		"stays":   {APIVersion: "example.com/v1", Kind: "Toy", Name: "a", UID: "another"},
		"goes":    {APIVersion: "example.com/v1", Kind: "Toy", Name: "a", UID: types.UID(uid)},
		"unknown": {APIVersion: "example.com/v2", Kind: "Toy", Name: "a", UID: types.UID(uid)},
	} {
		m := configMap(name, "1")
		m.OwnerReferences = []metav1.OwnerReference{ref}
		create(t, c, m)
	}
	settle(t, s)
	names := func() string {
		out := ""
		for _, m := range listAll[corev1.ConfigMap](t, c, client.InNamespace("default")) {
			out += m.Name + " "
		}
		return out
	}
	if got := names(); got != "goes unknown " {
		t.Errorf("there are %s", got)
	}
	talk.send("DELETE", "/apis/example.com/v1/namespaces/default/toys/a", "")
	settle(t, s)
	if got := names(); got != "unknown " {
		t.Errorf("there are %s", got)
	}
	s.Apply(filepath.Join(dir, "toy.yaml"))
	again := configMap("again", "1")
	again.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Toy", Name: "a", UID: types.UID(talk.get("/apis/example.com/v1/namespaces/default/toys/a").Metadata.UID)}}
	create(t, c, again)
	settle(t, s)
	if got := names(); got != "again unknown " {
		t.Errorf("there are %s", got)
	}
	talk.send("DELETE", definitions+"/toys.example.com", "")
	settle(t, s)
	if got := names(); got != "unknown " {
		t.Errorf("there are %s after the definition went", got)
	}
}

// Pods do what their annotations say, on virtual time: hours take no time.
func TestScriptedPods(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := apiserver.Start(t, apiserver.Options{InMemory: true, Controllers: []string{"*"}})
		c := newClient(t, s)
		slow := create(t, c, sized("slow", 2, "start-after=20s", "ready-after=10s", "stop-after=7s"))
		stuck := create(t, c, sized("stuck", 1, "image=missing"))
		crash := create(t, c, sized("crash", 1, "exit-after=1s", "exit-code=2"))
		check := func(d *appsv1.Deployment, want string) {
			t.Helper()
			synctest.Wait()
			d, err := client.Get[appsv1.Deployment](ctx, c, object.KeyOf(d))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, d.Status.Replicas)
			for _, x := range d.Status.Conditions {
				if x.Type == appsv1.DeploymentProgressing {
					got += " " + x.Reason
				}
			}
			if got != want {
				t.Errorf("after %v %s is %s, want %s", time.Since(d.CreationTimestamp.Time), d.Name, got, want)
			}
		}
		time.Sleep(25 * time.Second)
		check(slow, "0/2 ReplicaSetUpdated")
		time.Sleep(6 * time.Second)
		check(slow, "2/2 NewReplicaSetAvailable")
		if err := client.SetScale(ctx, c, slow, 1); err != nil {
			t.Fatal(err)
		}
		count := func(want int) {
			t.Helper()
			synctest.Wait()
			if pods := listAll[corev1.Pod](t, c, client.MatchingLabels{"app": "slow"}); len(pods) != want {
				t.Errorf("%d Pods, want %d", len(pods), want)
			}
		}
		time.Sleep(5 * time.Second)
		count(2) // one stops
		time.Sleep(3 * time.Second)
		count(1)
		time.Sleep(10 * time.Minute)
		check(stuck, "0/1 ProgressDeadlineExceeded")
		time.Sleep(time.Hour)
		synctest.Wait()
		pods := listAll[corev1.Pod](t, c, client.MatchingLabels{"app": crash.Name})
		if len(pods) != 1 {
			t.Fatalf("%d Pods", len(pods))
		}
		st := pods[0].Status.ContainerStatuses[0]
		if st.RestartCount < 15 || st.RestartCount > 20 || st.LastTerminationState.Terminated.ExitCode != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// Pods of a Node that is gone are lost after a while, and others take their places.
func TestLostNode(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := apiserver.Start(t, apiserver.Options{InMemory: true, Controllers: []string{"*"}})
		c := newClient(t, s)
		create(t, c, sized("web", 2))
		synctest.Wait()
		if err := client.Delete(ctx, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}}); err != nil {
			t.Fatal(err)
		}
		create(t, c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		nodes := func(want string) {
			t.Helper()
			synctest.Wait()
			got := ""
			for _, p := range listAll[corev1.Pod](t, c) {
				got += p.Spec.NodeName + " " + string(p.Status.Phase) + "; "
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		time.Sleep(35 * time.Second)
		nodes("node-0 Running; node-0 Running; ")
		time.Sleep(10 * time.Second)
		nodes("other Running; other Running; ")
	})
}

// What people do with kubectl where controllers run.
func TestKubectlRollout(t *testing.T) {
	program, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("no kubectl is here")
	}
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}})
	dir := t.TempDir()
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, s.Kubeconfig(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ line, want string }{
		{"get nodes", "node-0   Ready"},
		{"create deployment web --image=one --replicas=3", "created"},
		{"rollout status deployment web --timeout=4m", "successfully rolled out"},
		{"get deployment web", "web    3/3     3            3"},
		{"get pods -l app=web", "1/1     Running   0"},
		{"set image deployment web one=two", "image updated"},
		{"rollout status deployment web --timeout=4m", "successfully rolled out"},
		{"rollout history deployment web", "2         <none>"},
		{"rollout undo deployment web", "rolled back"},
		{"rollout status deployment web --timeout=4m", "successfully rolled out"},
		{"get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "one"},
		{"rollout history deployment web", "3         <none>"},
		{"rollout restart deployment web", "restarted"},
		{"rollout status deployment web --timeout=4m", "successfully rolled out"},
		{"rollout pause deployment web", "paused"},
		{"set image deployment web one=three", "image updated"},
		{"scale deployment web --replicas=5", "scaled"},
		{"wait deployment web --for=jsonpath={.status.readyReplicas}=5 --timeout=4m", "condition met"},
		{"rollout resume deployment web", "resumed"},
		{"rollout status deployment web --timeout=4m", "successfully rolled out"},
		{"wait pods -l app=web --for=condition=Ready --timeout=4m", "condition met"},
		{"describe deployment web", "NewReplicaSetAvailable"},
		{"describe deployment web", "Scaled up replica set web-"},
		{"run fixed --image=i --overrides={\"spec\":{\"nodeSelector\":{\"a\":\"b\"}}}", "created"},
		{"events --for pod/fixed", "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
		{"delete pod fixed", "deleted"},
		{"delete deployment web --cascade=foreground --timeout=4m", "deleted"},
		{"get pods", "No resources found"},
		{"create namespace a", "created"},
		{"delete namespace a --timeout=4m", "deleted"},
		{"get serviceaccounts", "default"},
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(step.line)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+config, "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), step.want) {
			t.Errorf("kubectl %s: %v\n%swant %q", step.line, err, out, step.want)
		}
	}
}
