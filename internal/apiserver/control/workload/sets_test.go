package workload

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

const setText = `{"metadata":{"name":"db","namespace":"ns","uid":"db","generation":1},"spec":{"replicas":2,"revisionHistoryLimit":0,"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0,"maxUnavailable":1}}MORE}}`

// setWorld steps a StatefulSet.
type setWorld struct {
	StatefulSet
	t      *testing.T
	claims map[string]*corev1.PersistentVolumeClaim
}

func newSet(t *testing.T, more string) *setWorld {
	w := &setWorld{t: t, claims: map[string]*corev1.PersistentVolumeClaim{}}
	w.set(strings.Replace(setText, "MORE", more, 1))
	w.Claim = func(name string) *corev1.PersistentVolumeClaim { return w.claims[name] }
	return w
}

func (w *setWorld) set(text string) {
	w.t.Helper()
	var status appsv1.StatefulSetStatus
	if w.Set != nil {
		status = w.Set.Status
	}
	w.Set, w.Stored = controltest.Parse[appsv1.StatefulSet](w.t, text), []byte(text)
	w.Set.Status = status
}

// step checks what a step asks for, and does it.
func (w *setWorld) step(want ...string) time.Time {
	w.t.Helper()
	c := &calls.Calls{}
	due, err := w.Sync(start, c)
	if err != nil {
		w.t.Fatal(err)
	}
	expect(w.t, c, want...)
	for _, r := range c.List {
		switch {
		case strings.HasSuffix(r.URL, "/status"):
			w.Set.Status = controltest.Parse[appsv1.StatefulSet](w.t, string(r.Body)).Status
		case r.Method == "POST" && strings.HasSuffix(r.URL, "/controllerrevisions"):
			w.Revisions = append(w.Revisions, controltest.Parse[appsv1.ControllerRevision](w.t, string(r.Body)))
		case r.Method == "POST" && strings.HasSuffix(r.URL, "/persistentvolumeclaims"):
			x := controltest.Parse[corev1.PersistentVolumeClaim](w.t, string(r.Body))
			w.claims[x.Name] = x
		case r.Method == "DELETE":
			for i, p := range w.Pods {
				if strings.HasSuffix(r.URL, "/pods/"+p.Name) {
					w.Pods = append(w.Pods[:i:i], w.Pods[i+1:]...)
					break
				}
			}
		}
	}
	w.Pods = append(w.Pods, made(w.t, c)...)
	return due
}

// Pods come one after the other, and their claims before them. They are replaced from the last one on.
func TestStatefulSetInOrder(t *testing.T) {
	w := newSet(t, `,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]`)
	w.step("POST controllerrevisions "+w.next(), "POST persistentvolumeclaims data-db-0", "POST pods db-0", "PUT db status")
	w.step("PUT db status")
	w.step()
	ready(w.Pods...)
	w.step("POST persistentvolumeclaims data-db-1", "POST pods db-1", "PUT db status")
	if p := w.Pods[1]; p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-db-1" || p.Spec.Hostname != "db-1" || p.Labels["apps.kubernetes.io/pod-index"] != "1" || p.Labels["controller-revision-hash"] != w.Revisions[0].Name {
		t.Errorf("%+v", p)
	}
	ready(w.Pods...)
	w.step("PUT db status")
	if s := w.Set.Status; s.CurrentRevision != s.UpdateRevision || s.AvailableReplicas != 2 || *s.CollisionCount != 0 {
		t.Errorf("%+v", s)
	}
	w.set(strings.NewReplacer("MORE", "", `"image":"i"`, `"image":"j"`, `"generation":1`, `"generation":2`).Replace(setText))
	w.step("POST controllerrevisions "+w.next(), "DELETE pods db-1", "PUT db status")
	w.step("POST pods db-1", "PUT db status")
	ready(w.Pods...)
	w.step("DELETE pods db-0", "PUT db status")
	w.step("POST pods db-0", "PUT db status")
	ready(w.Pods...)
	w.step("PUT db status")
	w.step("DELETE controllerrevisions " + w.Revisions[0].Name)
}

// next is the name of the revision that the template has.
func (w *setWorld) next() string {
	data, err := revisionData(w.Stored)
	if err != nil {
		w.t.Fatal(err)
	}
	return "db-" + hashRevision(data, 0)
}

// In parallel, pods wait for none. Those below the partition keep their revision.
func TestStatefulSetInParallel(t *testing.T) {
	w := newSet(t, `,"podManagementPolicy":"Parallel"`)
	w.step("POST controllerrevisions "+w.next(), "POST pods db-0", "POST pods db-1", "PUT db status")
	ready(w.Pods...)
	w.step("PUT db status")
	w.set(strings.NewReplacer("MORE", `,"podManagementPolicy":"Parallel"`, `"image":"i"`, `"image":"j"`, `"partition":0`, `"partition":1`, `"replicas":2`, `"replicas":3`).Replace(setText))
	w.step("POST controllerrevisions "+w.next(), "POST pods db-2", "PUT db status")
	ready(w.Pods...)
	w.step("DELETE pods db-1", "PUT db status")
	w.step("POST pods db-1", "PUT db status")
	ready(w.Pods...)
	w.step("PUT db status")
	if s := w.Set.Status; s.UpdatedReplicas != 2 || s.CurrentReplicas != 1 || s.CurrentRevision == s.UpdateRevision {
		t.Errorf("%+v", s)
	}
	w.set(strings.NewReplacer("MORE", `,"podManagementPolicy":"Parallel","minReadySeconds":60`, `"image":"i"`, `"image":"j"`, `"partition":0`, `"partition":1`, `"replicas":2`, `"replicas":0`).Replace(setText))
	if due := w.step("DELETE pods db-2", "DELETE pods db-1", "DELETE pods db-0", "PUT db status"); !due.Equal(start.Add(time.Minute)) {
		t.Errorf("due at %v", due)
	}
}

// A claim belongs to the set, or to a pod that is too many; not to what its policy does not say.
func TestRetention(t *testing.T) {
	for _, c := range []struct {
		scaled, deleted string
		pod             string
		want            string
	}{
		{"Retain", "Retain", "db-0", ""}, {"Retain", "Delete", "db-0", "StatefulSet"}, {"Delete", "Retain", "db-0", ""}, {"Delete", "Delete", "db-0", "StatefulSet"},
		{"Retain", "Retain", "db-5", ""}, {"Retain", "Delete", "db-5", "StatefulSet"}, {"Delete", "Retain", "db-5", "Pod"}, {"Delete", "Delete", "db-5", "Pod"},
	} {
		w := newSet(t, `,"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}],"persistentVolumeClaimRetentionPolicy":{"whenScaled":"`+c.scaled+`","whenDeleted":"`+c.deleted+`"}`)
		s := &statefulSet{StatefulSet: w.StatefulSet, owner: owner{Object: w.Set, kind: statefulSetKind}, c: &calls.Calls{}, replicas: make([]*corev1.Pod, 2)}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: c.pod, Namespace: "ns", UID: "pod"}}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data-" + c.pod, Namespace: "ns"}}
		w.claims[claim.Name] = claim
		s.matchClaims(p)
		if (len(s.c.List) > 0) != (c.want != "") {
			t.Errorf("%+v: %v", c, said(s.c))
			continue
		}
		if c.want == "" {
			continue
		}
		claim.OwnerReferences = controltest.Parse[corev1.PersistentVolumeClaim](t, string(s.c.List[0].Body)).OwnerReferences
		if len(claim.OwnerReferences) != 1 || claim.OwnerReferences[0].Kind != c.want {
			t.Errorf("%+v: %+v", c, claim.OwnerReferences)
		}
		s.c = &calls.Calls{}
		s.matchClaims(p)
		expect(t, s.c)
		claim.OwnerReferences[0].UID = "another"
		s.matchClaims(p)
		expect(t, s.c) // nobody knows what became of it
	}
}

const daemonText = `{"metadata":{"name":"agent","namespace":"ns","uid":"agent","generation":1},"spec":{"revisionHistoryLimit":0,"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}},"updateStrategy":{"type":"RollingUpdate","rollingUpdate":STRATEGY}}}`

func daemons(t *testing.T, strategy string, nodes ...string) *DaemonSet {
	text := strings.Replace(daemonText, "STRATEGY", strategy, 1)
	d := &DaemonSet{Set: controltest.Parse[appsv1.DaemonSet](t, text), Stored: []byte(text)}
	d.Hash = func(*int32) (string, error) { return "new", nil }
	for _, n := range nodes {
		d.Nodes = append(d.Nodes, controltest.Parse[corev1.Node](t, n))
	}
	data, err := revisionData(d.Stored)
	if err != nil {
		t.Fatal(err)
	}
	r := newRevision(owner{Object: d.Set, kind: daemonSetKind}, &d.Set.Spec.Template, data, 1, 0)
	r.Name, r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = "agent-new", "new"
	d.Revisions = []*appsv1.ControllerRevision{r}
	return d
}

// daemonPod returns a pod that runs on a node.
func daemonPod(t *testing.T, d *DaemonSet, name, node, hash string) *corev1.Pod {
	p := pod.FromTemplate(&d.Set.Spec.Template, controllerRef(owner{Object: d.Set, kind: daemonSetKind}), d.Set)
	p.Name, p.Spec.NodeName = name, node
	setLabel(p, appsv1.DefaultDaemonSetUniqueLabelKey, hash)
	return ready(p)[0]
}

func (in *DaemonSet) run(t *testing.T, want ...string) *calls.Calls {
	t.Helper()
	c := &calls.Calls{}
	if _, err := in.Sync(start, c); err != nil {
		t.Fatal(err)
	}
	expect(t, c, want...)
	return c
}

const (
	nodeA = `{"metadata":{"name":"a"}}`
	nodeB = `{"metadata":{"name":"b"}}`
)

func TestDaemonSet(t *testing.T) {
	d := daemons(t, `{"maxUnavailable":1,"maxSurge":0}`, nodeA, nodeB,
		`{"metadata":{"name":"tainted"},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}`,
		`{"metadata":{"name":"cordoned"},"spec":{"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}}`)
	d.Revisions = nil
	c := d.run(t, "POST controllerrevisions agent-new", "POST pods agent-*", "POST pods agent-*", "POST pods agent-*", "PUT agent status")
	if s := status[appsv1.DaemonSetStatus](t, c); s.DesiredNumberScheduled != 3 || s.CurrentNumberScheduled != 0 || s.NumberUnavailable != 3 {
		t.Errorf("%+v", s)
	}
	if p := made(t, c)[1]; targetNode(p) != "b" || len(p.Spec.Tolerations) != 6 || p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "new" {
		t.Errorf("%+v", p)
	}
	d.Nodes = d.Nodes[:2]
	d.Revisions = []*appsv1.ControllerRevision{controltest.Parse[appsv1.ControllerRevision](t, string(c.List[0].Body))}
	d.Pods = []*corev1.Pod{daemonPod(t, d, "p", "a", "new"), daemonPod(t, d, "q", "b", "new")}
	second := daemonPod(t, d, "r", "b", "new")
	gone := daemonPod(t, d, "s", "", "new")
	bindTo(&gone.Spec, "gone")
	d.Pods = append(d.Pods, second, gone)
	d.run(t, "DELETE pods r", "DELETE pods s", "PUT agent status")
	d.Pods = d.Pods[:2]
	d.Pods[0].Status.Phase = corev1.PodFailed
	d.Pods[0].CreationTimestamp = metav1.NewTime(start)
	d.Pods[1].Status.Phase = corev1.PodSucceeded
	d.run(t, "DELETE pods q", "PUT agent status")
	d.Pods[0].CreationTimestamp = metav1.NewTime(start.Add(-time.Second))
	d.run(t, "DELETE pods p", "DELETE pods q", "PUT agent status")
}

func TestDaemonSetRollout(t *testing.T) {
	d := daemons(t, `{"maxUnavailable":1,"maxSurge":0}`, nodeA, nodeB)
	d.Pods = []*corev1.Pod{daemonPod(t, d, "p", "a", "old"), daemonPod(t, d, "q", "b", "old")}
	d.run(t, "DELETE pods p", "PUT agent status")
	d.Pods[0] = daemonPod(t, d, "p", "a", "new")
	d.run(t, "DELETE pods q", "PUT agent status")
	d.Pods[0].Status.Conditions = nil
	d.run(t, "PUT agent status")

	d = daemons(t, `{"maxUnavailable":0,"maxSurge":1}`, nodeA, nodeB)
	d.Pods = []*corev1.Pod{daemonPod(t, d, "p", "a", "old"), daemonPod(t, d, "q", "b", "old")}
	c := d.run(t, "POST pods agent-*", "PUT agent status")
	if n := targetNode(made(t, c)[0]); n != "a" {
		t.Errorf("a pod for %q", n)
	}
	fresh := daemonPod(t, d, "r", "a", "new")
	fresh.Status.Conditions = nil
	d.Pods = append(d.Pods, fresh)
	d.run(t, "PUT agent status")
	ready(fresh)
	d.run(t, "DELETE pods p", "POST pods agent-*", "PUT agent status")
	d.Pods[0].Status.Conditions = nil
	d.Pods = d.Pods[:2]
	if n := targetNode(made(t, d.run(t, "POST pods agent-*", "POST pods agent-*", "PUT agent status"))[0]); n != "a" {
		t.Errorf("a pod for %q", n) // of the pod that is not ready, and another one
	}
}

// A name that another revision has is not taken.
func TestDaemonSetCollision(t *testing.T) {
	d := daemons(t, `{"maxUnavailable":1,"maxSurge":0}`)
	d.Revisions[0].Data = runtime.RawExtension{Raw: []byte(`{}`)}
	c := d.run(t, "PUT agent status", "DELETE controllerrevisions agent-new", "PUT agent status")
	if s := controltest.Parse[appsv1.DaemonSet](t, string(c.List[0].Body)).Status; *s.CollisionCount != 1 {
		t.Errorf("%+v", s)
	}
}
