package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
)

// Four ways to leave what somebody else has changed. What finds each is an edit of a field.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name string
		// blind says that the children are not watched, once that they are made and never written again, partly that two of
		// their fields are looked at, and polite that fields of others stay theirs.
		blind, once, partly, polite bool
	}{{name: "right"}, {name: "not watched", blind: true}, {name: "never updated", once: true}, {name: "compared in part", partly: true}, {name: "without force", polite: true}} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			s := sim.Scenario{
				Steps:    []sim.Step{app("a", `"image":"i:1"`, ""), set("a", `"image":"i:2"`)},
				Corrects: []string{"deployments.apps"},
				Program: program(func(m *flyball.Manager) error {
					more := []controller.Source[reconcile.Request]{controller.Owns[appsv1.Deployment]()}
					if c.blind {
						more = nil
					}
					return operator(m, func(k kit) error { return k.deploy(c.once, c.partly, c.polite) }, more...)
				}),
			}
			if c.name == "right" {
				passes(t, s, began)
				return
			}
			found, err := sim.Find(t, s, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Plans) == 0 {
				t.Fatalf("not found by %d faults", found.Done)
			}
			for i, p := range found.Plans {
				if !strings.HasPrefix(p, "edited@") {
					t.Errorf("found by %s, too: %s", p, found.Stories[i])
				}
			}
			t.Logf("%d of %d faults: %v", len(found.Plans), found.Done, found.Plans)
		})
	}
}

// deploy makes a Deployment with the image that the custom resource names.
func (k kit) deploy(once, partly, polite bool) error {
	if k.deleted() {
		return nil
	}
	labels := map[string]string{"of": k.key.Name}
	want := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: k.key.Name, Namespace: k.key.Namespace, Labels: labels}}
	want.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	want.Spec.Replicas = new(int32)
	want.Spec.Template.Labels = labels
	want.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: k.want("image"), Args: []string{"x", "y"}, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
	if once || partly {
		old, err := client.Get[appsv1.Deployment](k.ctx, k.c, k.key)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && old.Spec.Template.Spec.Containers[0].Image == k.want("image") && (once || *old.Spec.Replicas == 0) {
			return nil
		}
	}
	opts := []child.Option{child.Force()}
	if polite {
		opts = nil
	}
	_, _, err := child.Ensure(k.ctx, k.c, k.cm, want, opts...)
	return err
}

// What somebody else changes is a field that the program has written: neither one of the user nor one of the server.
func TestWhatIsEdited(t *testing.T) {
	s := sim.Scenario{
		Steps: []sim.Step{sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: default, labels: {user: "1"}}, stringData: {user: "2"}}`)},
		Program: program(func(m *flyball.Manager) error {
			_, err := controller.NewWith(m, "operator", func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
				s, err := client.Get[corev1.Secret](ctx, m.Client(), key)
				if err != nil || s.Name != "a" || s.Labels["program"] == "3" && string(s.Data["program"]) == "4" && s.Data["n"] != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				s.Labels["program"], s.Data["program"], s.Data["n"] = "3", []byte("4"), []byte("5")
				_, err = client.Update(ctx, m.Client(), s)
				return reconcile.Result{}, err
			}, controller.Options{}, controller.For[corev1.Secret]())
			return err
		}),
		Corrects: []string{"secrets"},
	}
	var edits []string
	for _, p := range sim.AllPlans(t, s) {
		if strings.HasPrefix(p, "edited@") {
			edits = append(edits, p)
		}
	}
	if want := "[edited@1:rest:secrets/default/a edited@1:rest:secrets/default/a#2 edited@1:rest:secrets/default/a#3]"; fmt.Sprint(edits) != want {
		t.Errorf("%v, want %s", edits, want)
	}
	found, err := sim.Find(t, s, 1<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, story := range found.Stories {
		if !strings.Contains(story, `data.n is "`) {
			t.Error(story)
		}
	}
	if fmt.Sprint(found.Plans) != "[edited@1:rest:secrets/default/a]" {
		t.Errorf("%v: data.n alone is not corrected", found.Plans)
	}
}
