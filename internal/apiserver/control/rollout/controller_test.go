package rollout

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

func web(replicas int32) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "web"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}},
	}
}

func onePod(name, app string, owned bool) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}}}
	if owned {
		p.OwnerReferences = []metav1.OwnerReference{control.Reference("apps/v1", "ReplicaSet", web(0))}
	}
	return p
}

// A ReplicaSet makes and deletes Pods, adopts those that it selects, and releases those that it no longer selects.
func TestReplicaSet(t *testing.T) {
	const ref = `{"apiVersion":"apps/v1","blockOwnerDeletion":true,"controller":true,"kind":"ReplicaSet","name":"web","uid":"web"}`
	const create, status = `POST /api/v1/namespaces/ns/pods {"ownerReferences":[` + ref + `]}`, "PUT /apis/apps/v1/namespaces/ns/replicasets/web/status"
	w := controltest.New(t, ReplicaSets)
	step := func(want ...string) {
		t.Helper()
		if got := w.Step(); !slices.Equal(got, want) {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
	}
	put := func(p *corev1.Pod) { w.Put(control.Pods.Key("ns", p.Name), p) }
	w.Put(control.ReplicaSets.Key("ns", "web"), web(2))
	step(create, create, status)
	put(onePod("a", "web", true))
	put(onePod("b", "web", false))
	step(`PATCH /api/v1/namespaces/ns/pods/b {"ownerReferences":[`+ref+`]}`, status)
	put(onePod("b", "web", true))
	step(status)
	put(onePod("b", "other", true))
	step(`PATCH /api/v1/namespaces/ns/pods/b {"ownerReferences":[{"$patch":"delete","uid":"web"}]}`, create, status)
	put(onePod("b", "other", false))
	put(onePod("c", "web", true))
	step(status)
	w.Put(control.ReplicaSets.Key("ns", "web"), web(0))
	step("DELETE /api/v1/namespaces/ns/pods/a", "DELETE /api/v1/namespaces/ns/pods/c", status)
	put(onePod("d", "other", false))
	step()
}
