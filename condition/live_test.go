package condition_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// newService makes a Service, whose status has conditions that no other client writes, and a client
// that counts its requests.
func newService(t *testing.T, sent *int) (*client.Live, *corev1.Service) {
	p := servertest.Shared(t)
	c := livetest.Client(t, p, client.Options{Hook: func(d client.Done) {
		if d.Resource.Resource != "" {
			*sent++
		}
	}})
	s, err := client.Create(t.Context(), c, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: servertest.Namespace(t, p), Name: "guests"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	*sent = 0
	return c, s
}

func TestPatchSendsOnlyChanges(t *testing.T) {
	sent := 0
	c, s := newService(t, &sent)
	work := func(s *corev1.Service) {
		t.Helper()
		st := condition.Begin(s, &s.Status.Conditions)
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: new(corev1.LoadBalancerIPModeVIP)}}
		s.Labels = map[string]string{"not": "sent"}
		st.True("example.com/Deployed", "Applied", "as %s", "wanted")
		st.False("Reachable", "NoEndpoints", "no Pod is ready")
		st.Summarize("Ready", "example.com/Deployed", "Reachable")
		if err := st.Patch(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	work(s)
	if sent != 1 {
		t.Errorf("%d requests, want one for all of the status", sent)
	}
	if len(s.Status.Conditions) != 3 || len(s.Status.LoadBalancer.Ingress) != 1 || len(s.Labels) != 0 {
		t.Errorf("the object is not as the server has it: %+v %v", s.Status, s.Labels)
	}
	now, err := client.Get[corev1.Service](t.Context(), c, object.KeyOf(s))
	if err != nil {
		t.Fatal(err)
	}
	if now.ResourceVersion != s.ResourceVersion {
		t.Errorf("version %s, the server has %s", s.ResourceVersion, now.ResourceVersion)
	}
	ready, _ := condition.Find(now.Status.Conditions, "Ready")
	if ready.Status != metav1.ConditionFalse || ready.Reason != "NoEndpoints" || ready.Message != "Reachable: no Pod is ready" {
		t.Errorf("Ready is %+v", ready)
	}
	sent = 0
	work(now)
	if sent != 0 {
		t.Errorf("%d requests though nothing changed", sent)
	}

	// One Status, several patches; a condition is removed.
	st := condition.Begin(now, &now.Status.Conditions)
	st.True("Reachable", "Answers", "")
	if err := st.Patch(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	st.Remove("example.com/Deployed")
	if err := st.Patch(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if sent != 2 || len(now.Status.Conditions) != 2 || !condition.IsTrue(now.Status.Conditions, "Reachable", 0) {
		t.Errorf("%d requests, then %+v", sent, now.Status.Conditions)
	}
}

// Two reconciles decide on the same object. The second one writes nothing, and returns an error.
func TestConflictWritesNothing(t *testing.T) {
	sent := 0
	c, first := newService(t, &sent)
	second := first.DeepCopy()
	st := condition.Begin(first, &first.Status.Conditions)
	st.True("First", "Said", "")
	if err := st.Patch(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	st = condition.Begin(second, &second.Status.Conditions)
	st.True("Second", "Said", "")
	err := st.Patch(t.Context(), c)
	conflict, ok := errors.AsType[*client.ConflictError](err)
	want := "status of Service " + second.Namespace + "/guests: nothing was written: the object changed after it was read"
	if !ok || conflict.Subresource != "status" || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	now, err := client.Get[corev1.Service](t.Context(), c, object.KeyOf(second))
	if err != nil || len(now.Status.Conditions) != 1 || now.Status.Conditions[0].Type != "First" {
		t.Errorf("got %+v, %v", now.Status.Conditions, err)
	}

	if err := client.Delete(t.Context(), c, now); err != nil {
		t.Fatal(err)
	}
	st = condition.Begin(now, &now.Status.Conditions)
	st.True("Third", "Said", "")
	if err := st.Patch(t.Context(), c); err == nil || client.IgnoreNotFound(err) != nil {
		t.Errorf("of an object that is gone: %v", err)
	}
}

// A dry run stores nothing.
func TestDryRunStoresNothing(t *testing.T) {
	sent := 0
	c, s := newService(t, &sent)
	st := condition.Begin(s, &s.Status.Conditions)
	st.True("Ready", "Said", "")
	if err := st.Patch(t.Context(), c, client.DryRun{}); err != nil {
		t.Fatal(err)
	}
	now, err := client.Get[corev1.Service](t.Context(), c, object.KeyOf(s))
	if err != nil || len(now.Status.Conditions) != 0 {
		t.Errorf("got %+v, %v", now.Status.Conditions, err)
	}
}
