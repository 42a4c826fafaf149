package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/condition"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/rbac"
	"github.com/flyball-io/flyball/test/operatortest"

	webappv1 "github.com/flyball-io/flyball/examples/guestbook/api/webapp/v1"
)

func isReady(g *webappv1.Guestbook) bool {
	return g.Status.ObservedGeneration == g.Generation && condition.IsTrue(g.Status.Conditions, "Ready", g.Generation)
}

// TestGuestbook is the life of one, with no more rights than it takes.
func TestGuestbook(t *testing.T) {
	var asked *rbac.Recorder
	var sent calls
	op := start(t, func(o *flyball.Options) {
		o.Client.Hook = sent.add
		asked = rbac.RecordTest(t, &o.Client)
	})
	two := int32(2)
	g := create(t, op, "visitors", webappv1.GuestbookSpec{Size: &two, Message: "Hello", Image: "web:1"})
	g = operatortest.Await(t, op, g, isReady)
	if g.Status.Replicas != 2 || g.Status.ReadyReplicas != 2 || g.Finalizers[0] != "webapp.example.com/cleanup" {
		t.Errorf("ready, but %+v, finalizers %q", g.Status, g.Finalizers)
	}
	d, err := client.Get[appsv1.Deployment](t.Context(), op.Client, object.KeyOf(g))
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Spec.Template.Spec.Containers[0]; *d.Spec.Replicas != 2 || c.Image != "web:1" || c.Env[0].Value != "Hello" || c.Env[1].Value != "Name" {
		t.Errorf("Deployment of %d: %+v", *d.Spec.Replicas, c)
	}
	if _, err := client.Get[corev1.Service](t.Context(), op.Client, object.KeyOf(g)); err != nil {
		t.Error(err)
	}
	t.Run("event", func(t *testing.T) { testEvent(t, op, g) })
	t.Run("at rest", func(t *testing.T) { testAtRest(t, op, g, d, &sent) })
	t.Run("changed by hand", func(t *testing.T) { testChangedByHand(t, op, d) })
	t.Run("deleted by hand", func(t *testing.T) { testDeletedByHand(t, op, g) })
	t.Run("name taken", func(t *testing.T) { testNameTaken(t, op) })
	t.Run("deleted", func(t *testing.T) {
		if err := client.Delete(t.Context(), op.Client, g); err != nil {
			t.Fatal(err)
		}
		gone[webappv1.Guestbook](t, op.Client, g)
		gone[appsv1.Deployment](t, op.Client, g)
		gone[corev1.Service](t, op.Client, g)
	})
	t.Run("rights", func(t *testing.T) { testRights(t, op, asked.Rules()) })
}

// testEvent: each child that was made has an event.
func testEvent(t *testing.T, op *operatortest.Operator, g *webappv1.Guestbook) {
	eventually(t, operatortest.Bound, func(ctx context.Context) error {
		var reasons []string
		for e, err := range client.List[eventsv1.Event](ctx, op.Client, client.InNamespace(op.Namespace)) {
			if err != nil {
				return err
			}
			if e.Regarding.UID == g.UID {
				reasons = append(reasons, e.Reason)
			}
		}
		if slices.Sort(reasons); !slices.Equal(reasons, []string{"DeploymentCreated", "ServiceCreated"}) {
			return fmt.Errorf("events: %q", reasons)
		}
		return nil
	})
}

// testAtRest wakes the controller by changes that do not concern it: it looks, and sends nothing.
func testAtRest(t *testing.T, op *operatortest.Operator, g *webappv1.Guestbook, d *appsv1.Deployment, sent *calls) {
	// Until the cache shows the controller its last status, it may send that again.
	eventually(t, operatortest.Bound, func(ctx context.Context) error {
		cached, err := client.Get[webappv1.Guestbook](ctx, op.Manager.Client(), object.KeyOf(g))
		if err == nil && !isReady(cached) {
			err = fmt.Errorf("the cache shows %+v", cached.Status)
		}
		return err
	})
	idle(t, op, 0)
	before, looked := sent.list(), reconciles(t, op)
	for i := range 5 {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/note":"%d"}}}`, i)
		if _, err := client.Patch(t.Context(), op.Client, d, client.MergePatch(patch)); err != nil {
			t.Fatal(err)
		}
		idle(t, op, looked+float64(i)+1)
	}
	if after := sent.list(); len(after) > len(before) {
		t.Errorf("requests for nothing: %v", after[len(before):])
	}
}

// calls are the requests of the program, but for watches.
type calls struct {
	mu  sync.Mutex
	all []client.Call
}

func (c *calls) add(d client.Done) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.Verb != "watch" {
		c.all = append(c.all, d.Call)
	}
}

func (c *calls) list() []client.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// idle waits until the controller has reconciled as often as that, and has nothing more to do.
func idle(t *testing.T, op *operatortest.Operator, times float64) {
	t.Helper()
	eventually(t, operatortest.Bound, func(context.Context) error {
		done, waiting, active := reconciles(t, op), metric(t, op, "workqueue_depth", ""), metric(t, op, "controller_runtime_active_workers", "")
		if done < times || waiting > 0 || active > 0 {
			return fmt.Errorf("reconciled %v times of %v, %v wait, %v are at work", done, times, waiting, active)
		}
		return nil
	})
}

func reconciles(t *testing.T, op *operatortest.Operator) float64 {
	return metric(t, op, "controller_runtime_reconcile_total", "")
}

// metric is the sum of the series of a metric of the program that have a label, name=value; empty: of
// all.
func metric(t *testing.T, op *operatortest.Operator, name, label string) (sum float64) {
	t.Helper()
	families, err := op.Manager.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			if label != "" && !slices.Contains(labels, label) {
				continue
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		return sum
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func testChangedByHand(t *testing.T, op *operatortest.Operator, d *appsv1.Deployment) {
	before := metric(t, op, "guestbook_child_writes_total", "")
	patch := `{"spec":{"replicas":7,"template":{"spec":{"containers":[{"name":"guestbook","image":"other:2"}]}}}}`
	if _, err := client.Patch(t.Context(), op.Client, d, client.MergePatch(patch)); err != nil {
		t.Fatal(err)
	}
	operatortest.Await(t, op, d, func(d *appsv1.Deployment) bool {
		return *d.Spec.Replicas == 2 && d.Spec.Template.Spec.Containers[0].Image == "web:1"
	})
	eventually(t, operatortest.Bound, func(context.Context) error {
		if metric(t, op, "guestbook_child_writes_total", "") <= before {
			return fmt.Errorf("the metric does not count it")
		}
		return nil
	})
}

func testDeletedByHand(t *testing.T, op *operatortest.Operator, g *webappv1.Guestbook) {
	before, err := client.Get[corev1.Service](t.Context(), op.Client, object.KeyOf(g))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(t.Context(), op.Client, before); err != nil {
		t.Fatal(err)
	}
	operatortest.Await(t, op, before, func(s *corev1.Service) bool { return s.UID != before.UID })
}

// testNameTaken: what somebody else has made stays as it is, and people are told.
func testNameTaken(t *testing.T, op *operatortest.Operator) {
	s := &corev1.Service{}
	s.Name, s.Namespace = "taken", op.Namespace
	s.Spec.Ports = []corev1.ServicePort{{Port: 1}}
	s, err := client.Create(t.Context(), op.Client, s)
	if err != nil {
		t.Fatal(err)
	}
	g := create(t, op, "taken", webappv1.GuestbookSpec{})
	operatortest.Await(t, op, g, func(g *webappv1.Guestbook) bool {
		c, ok := condition.Find(g.Status.Conditions, "Ready")
		return ok && c.Reason == "NameTaken" && strings.Contains(c.Message, "taken")
	})
	after, err := client.Get[corev1.Service](t.Context(), op.Client, object.KeyOf(s))
	if err != nil || after.ResourceVersion != s.ResourceVersion {
		t.Errorf("the Service of somebody else: %+v, %v", after, err)
	}
}

// testRights compares what the program asked for with what config grants it: no less, and no more.
func testRights(t *testing.T, op *operatortest.Operator, asked rbac.Rules) {
	role, err := rbac.Load("../../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// What its caches may come to ask for, and owner references, no request shows.
	followed, err := rbac.Declared(op.Manager.Scheme(), op.Manager.Mapper(), &webappv1.Guestbook{}, &appsv1.Deployment{}, &corev1.Service{})
	if err != nil {
		t.Fatal(err)
	}
	owning, err := rbac.Features("owning=guestbooks.webapp.example.com")
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := rbac.Features("certificates")
	if err != nil {
		t.Fatal(err)
	}
	needed := rbac.Union(asked, followed, owning)
	if missing := rbac.Missing(rbac.Union(role, certificates), needed); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
	if excess := rbac.Excess(role, needed); len(excess) > 0 {
		t.Errorf("in excess: %v", excess)
	}
}
