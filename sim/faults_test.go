package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/sim"
)

// run runs the operator of a bug.
func (b bug) run(fixed bool) sim.Scenario {
	s := b.scenario
	s.Steps = b.steps
	s.Program = program(func(m *flyball.Manager) error { return operator(m, b.reconcile(fixed)) })
	return s
}

// stateless is an operator whose process remembers nothing.
func stateless(do func(k kit, fixed bool) error) func(bool) act {
	return func(fixed bool) act { return func(k kit) error { return do(k, fixed) } }
}

// Each kind of fault finds the bug that needs it, by itself.
func TestFaultsFindBugs(t *testing.T) {
	for _, c := range []struct {
		kind string
		says string // a part of the story
		bug
	}{
		{"next-step", "the user does the next step", bug{name: "writes back what the user has changed meanwhile",
			steps: []sim.Step{app("a", `"image":"1"`, ""), sim.Patch("secrets", "default/a-run", `{"stringData":{"password":"x"}}`)},
			reconcile: stateless(func(k kit, fixed bool) error {
				if k.deleted() {
					return nil
				}
				if err := k.ensure("a-run"); err != nil {
					return err
				}
				s, err := k.get("a-run")
				if err != nil || s == nil || string(s.Data["image"]) == k.want("image") {
					return err
				}
				if !fixed {
					s.ResourceVersion = ""
				}
				return k.put(s, "image", k.want("image"))
			})}},
		{"touched", "somebody else annotates secrets/default/a-run", bug{name: "takes a conflict for done",
			steps: []sim.Step{app("a", `"image":"1"`, ""), set("a", `"image":"2"`)},
			reconcile: stateless(func(k kit, fixed bool) error {
				if k.deleted() {
					return nil
				}
				if err := k.ensure("a-run"); err != nil {
					return err
				}
				s, err := k.get("a-run")
				if err != nil || s == nil || string(s.Data["image"]) == k.want("image") {
					return err
				}
				if err := k.put(s, "image", k.want("image")); !apierrors.IsConflict(err) || fixed {
					return err
				}
				return nil
			})}},
		{"outage", "the server cannot be reached", bug{name: "gives up after some errors",
			steps: []sim.Step{app("a", `"image":"1"`, "")},
			reconcile: func(fixed bool) act {
				tries := 0
				return func(k kit) error {
					if k.deleted() {
						return nil
					}
					err := k.ensure("a-run")
					if tries++; err != nil && tries > 3 && !fixed {
						return nil
					}
					return err
				}
			}}},
		{"hour", "an hour passes", bug{name: "deletes what is old",
			steps: []sim.Step{app("a", `"image":"1"`, ""), set("a", `"image":"2"`)},
			reconcile: stateless(func(k kit, fixed bool) error {
				if k.deleted() {
					return nil
				}
				if s, err := k.get("a-run"); err != nil || s != nil && time.Since(s.CreationTimestamp.Time) > 30*time.Minute && !fixed {
					return errors.Join(err, k.remove(s))
				}
				return k.ensure("a-run")
			})}},
		{"webhooks-away", "create secrets/default/a-run → 500", bug{name: "takes the error of a webhook for a refusal",
			scenario: sim.Scenario{Webhooks: http.HandlerFunc(allow)},
			steps:    []sim.Step{sim.ApplyText(hookOfSecrets), app("a", `"image":"1"`, "")},
			reconcile: stateless(func(k kit, fixed bool) error {
				if k.deleted() {
					return nil
				}
				if err := k.ensure("a-run"); fixed || err == nil || !strings.Contains(err.Error(), "webhook") {
					return err
				}
				return nil
			})}},
	} {
		for _, fixed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/fixed=%v", c.name, fixed), func(t *testing.T) {
				found, err := sim.FindBy(t, c.run(fixed), c.kind)
				switch {
				case err != nil:
					t.Fatal(err)
				case found.Done == 0:
					t.Fatalf("no fault of the kind %s was tried", c.kind)
				case fixed && len(found.Stories) > 0:
					t.Error(found.Stories[0])
				case !fixed && len(found.Stories) == 0:
					t.Errorf("not found by %d faults", found.Done)
				case !fixed && !strings.Contains(found.Stories[0], c.says):
					t.Errorf("the story does not say %q: %s", c.says, found.Stories[0])
				}
			})
		}
	}
}

const hookOfSecrets = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: secrets},
	webhooks: [{name: secrets.sim.dev, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://hooks.sim.dev/"},
		rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}]}`

// allow is a webhook that allows all.
func allow(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct{ UID string }
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
}

// A bug that shows only when a recovery is interrupted takes two faults. The second one is at a point of the recovery.
func TestInterruptedRecoveryIsFound(t *testing.T) {
	b := bug{
		steps:    []sim.Step{app("a", `"image":"1"`, "")},
		scenario: sim.Scenario{Ignore: []string{"metadata.annotations.recovered"}},
		reconcile: stateless(func(k kit, fixed bool) error {
			if k.deleted() || k.cm.Annotations["done"] != "" {
				return nil
			}
			recovered := k.cm.Annotations["recovered"] != ""
			switch {
			case k.cm.Annotations["begun"] == "":
				if err := k.note("begun", "yes"); err != nil {
					return err
				}
			case !recovered:
				if err := k.note("recovered", "yes"); err != nil {
					return err
				}
			}
			if !recovered || fixed {
				if err := k.ensure("a-run"); err != nil {
					return err
				}
			}
			cm, err := client.Get[corev1.ConfigMap](k.ctx, k.live, object.KeyOf(k.cm))
			if err != nil {
				return client.IgnoreNotFound(err)
			}
			k.cm = cm
			return k.note("done", "yes")
		}),
	}
	found, err := sim.Find(t, b.run(false), 1, 400)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Plans) != 1 || found.Pairs == 0 || strings.Count(found.Plans[0], "@") != 2 {
		t.Errorf("found %v after %d pairs", found.Plans, found.Pairs)
	}
	passes(t, b.run(true), time.Now())
}

// What must always hold is checked after each change, with and without faults.
func TestAlways(t *testing.T) {
	always := []sim.Invariant{sim.Holds("what is done has a Secret", func(ctx context.Context, cfg *rest.Config) error {
		c, err := client.New(cfg, client.Options{})
		if err != nil {
			return err
		}
		defer c.Close()
		cm, err := client.Get[corev1.ConfigMap](ctx, c, object.Key{Namespace: "default", Name: "a"})
		if err != nil || cm.Annotations["done"] == "" {
			return client.IgnoreNotFound(err)
		}
		_, err = client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: "a-run"})
		return err
	})}
	steps := []sim.Step{app("a", `"image":"1"`, "")}
	scenario := func(reconcile act) sim.Scenario {
		return bug{steps: steps, scenario: sim.Scenario{Always: always}, reconcile: func(bool) act { return reconcile }}.run(true)
	}
	_, err := sim.Find(t, scenario(func(k kit) error { return errors.Join(k.note("done", "yes"), k.ensure("a-run")) }), 1, 0)
	if err == nil || !strings.Contains(err.Error(), "step 1, while it works: what is done has a Secret: ") {
		t.Errorf("an operator that does it in the wrong order: %v", err)
	}
	found, err := sim.Find(t, scenario(func(k kit) error { return errors.Join(k.ensure("a-run"), k.note("done", "yes")) }), 1, 0)
	if err != nil || len(found.Stories) == 0 || !strings.Contains(found.Stories[0], "step 1, while it works: what is done has a Secret: ") {
		t.Errorf("an operator that says done after an error: %v, %v", err, found.Stories)
	}
	passes(t, scenario(func(k kit) error {
		if err := k.ensure("a-run"); err != nil {
			return err
		}
		return k.note("done", "yes")
	}), time.Now())
}

// A user cannot change what the program has not made yet, since it sees nothing of its owner. That is no failure.
func TestUserNeedsWhatIsNotMadeYet(t *testing.T) {
	s := sim.Scenario{
		Program: program(func(m *flyball.Manager) error {
			return operator(m, func(k kit) error {
				if k.deleted() {
					return nil
				}
				return k.ensure("a-run")
			})
		}),
		Steps: []sim.Step{app("a", `"x":"1"`, ""), sim.Patch("secrets", "default/a-run", `{"metadata":{"labels":{"by":"user"}}}`), set("a", `"x":"2"`)},
	}
	found, err := sim.FindBy(t, s, "lag")
	if err != nil {
		t.Fatal(err)
	}
	if found.Done == 0 || len(found.Stories) > 0 {
		t.Errorf("%d plans were tried, and these are failures: %v", found.Done, found.Stories)
	}
}

// A panic in an invariant is told as one of the invariant.
func TestInvariantThatPanics(t *testing.T) {
	nothing := bug{steps: []sim.Step{app("a", `"image":"1"`, "")}, reconcile: stateless(func(kit, bool) error { return nil })}
	bad := []sim.Invariant{sim.Holds("the size is known", func(context.Context, *rest.Config) error {
		var size *int
		return fmt.Errorf("%d", *size)
	})}
	for name, s := range map[string]sim.Scenario{"Settled": {Settled: bad}, "Always": {Always: bad}} {
		nothing.scenario = s
		_, err := sim.Find(t, nothing.run(true), 1, 0)
		if err == nil || !strings.Contains(err.Error(), "the size is known: the invariant panicked: ") || !strings.Contains(err.Error(), "faults_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
