package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/scheme"
	"github.com/flyball-io/flyball/sim"
)

// App is the custom resource of testdata/explore.
type App struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size    *int              `json:"size,omitempty"`
		Image   string            `json:"image"`
		Policy  string            `json:"policy,omitempty"`
		Mode    string            `json:"mode,omitempty"`
		Members []string          `json:"members,omitempty"`
		Labels  map[string]string `json:"labels,omitempty"`
		Paused  *bool             `json:"paused,omitempty"`
		Cache   *struct {
			Size json.RawMessage `json:"size"`
			Path string          `json:"path,omitempty"`
		} `json:"cache,omitempty"`
	} `json:"spec"`
	Status struct {
		Phase   string `json:"phase,omitempty"`
		Refused string `json:"refused,omitempty"`
	} `json:"status"`
}

// DeepCopyObject copies by JSON.
func (a *App) DeepCopyObject() runtime.Object {
	out := &App{}
	b, err := json.Marshal(a)
	if err == nil {
		err = json.Unmarshal(b, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

type AppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []App `json:"items"`
}

func (l *AppList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = slices.Clone(l.Items)
	return &out
}

func withApps(o *flyball.Options) {
	v1 := schema.GroupVersion{Group: "explore.sim.dev", Version: "v1"}
	o.Scheme = scheme.New()
	o.Scheme.AddKnownTypes(v1, &App{}, &AppList{})
	metav1.AddToGroupVersion(o.Scheme, v1)
}

// apps is what a reconcile of an App has. Its Secrets stand for Pods, volumes and sets.
type apps struct {
	ctx context.Context
	c   client.Client
	app *App
}

func (a apps) get(name string) (*corev1.Secret, error) {
	s, err := client.Get[corev1.Secret](a.ctx, a.c, object.Key{Namespace: "default", Name: name})
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// put makes a Secret what it should be.
func (a apps) put(name, value string, free ...bool) error {
	s, err := a.get(name)
	switch {
	case err != nil:
		return err
	case s == nil:
		s = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"of": a.app.Name}}, StringData: map[string]string{"v": value}}
		if len(free) == 0 {
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "explore.sim.dev/v1", Kind: "App", Name: a.app.Name, UID: a.app.UID, Controller: new(true)}}
		}
		_, err = client.Create(a.ctx, a.c, s)
		return err
	case string(s.Data["v"]) == value:
		return nil
	}
	s.Data = map[string][]byte{"v": []byte(value)}
	_, err = client.Update(a.ctx, a.c, s)
	return err
}

func (a apps) remove(name string) error {
	s, err := a.get(name)
	if err != nil || s == nil {
		return err
	}
	return client.IgnoreNotFound(client.Delete(a.ctx, a.c, s))
}

// refuse writes why the object is not managed; "" if it is.
func (a apps) refuse(why string) error {
	if a.app.Status.Refused == why {
		return nil
	}
	patch := `{"status":{"refused":null}}`
	if why != "" {
		patch = fmt.Sprintf(`{"status":{"refused":%q}}`, why)
	}
	_, err := client.PatchStatus(a.ctx, a.c, a.app, client.MergePatch(patch))
	return client.IgnoreNotFound(err)
}

// exploration returns that of a reconcile of Apps.
func exploration(do func(apps) error) sim.Exploration {
	return sim.Exploration{From: "testdata/explore/app.yaml", Scenario: sim.Scenario{CRDs: "testdata/explore/crd.yaml", Program: program(func(m *flyball.Manager) error {
		_, err := controller.New(m, "apps", func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
			app, err := client.Get[App](ctx, m.Client(), key)
			if err != nil || app.DeletionTimestamp != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			return reconcile.Result{}, do(apps{ctx, m.Client(), app})
		}, controller.For[App](), controller.Owns[corev1.Secret]())
		return err
	}, withApps)}}
}

// badly is an operator that manages some objects badly, or changes of them.
type badly struct {
	name      string
	reconcile func(fixed bool) func(apps) error
	scenario  sim.Scenario // more of it
	history   bool
	// shown is what of the story says so.
	shown string
}

func sizeOf(a apps) int {
	if a.app.Spec.Size == nil {
		return 1
	}
	return *a.app.Spec.Size
}

var bugsOfObjects = []badly{
	{name: "tidb-operator-4635", // three members are enough, even without names
		shown: "a member without a name",
		scenario: sim.Scenario{Settled: []sim.Invariant{sim.Holds("members have names", func(ctx context.Context, cfg *rest.Config) error {
			s, err := secret(ctx, cfg, "a-members")
			if err == nil && s != nil && slices.Contains(strings.Split(string(s.Data["v"]), ","), "") {
				return fmt.Errorf("%q has a member without a name", s.Data["v"])
			}
			return err
		})}},
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				if len(a.app.Spec.Members) < 3 || fixed && slices.Contains(a.app.Spec.Members, "") {
					return a.refuse("the members")
				}
				if err := a.put("a-members", strings.Join(a.app.Spec.Members, ",")); err != nil {
					return err
				}
				return a.refuse("")
			}
		}},
	{name: "tidb-operator-4650", // a policy that nobody knows is taken for the default, which deletes
		shown:    "secrets/default/volume is missing",
		scenario: sim.Scenario{Steps: []sim.Step{sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: volume, namespace: default}}`)}},
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				policy := a.app.Spec.Policy
				if fixed && policy != "Retain" && policy != "Delete" && policy != "" {
					return a.refuse("the policy")
				}
				if err := a.refuse(""); err != nil || policy == "Retain" || policy == "" {
					return err
				}
				return a.remove("volume")
			}
		}},
	{name: "removed optional field", // keeps its effect
		shown: "secrets/default/a-cache",
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				if a.app.Spec.Cache != nil {
					return a.put("a-cache", string(a.app.Spec.Cache.Size)+a.app.Spec.Cache.Path)
				}
				if fixed {
					return a.remove("a-cache")
				}
				return nil
			}
		}},
	{name: "zero taken for unset",
		shown: "secrets/default/a-set differs",
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				set, err := a.get("a-set")
				if n := sizeOf(a); err == nil && (set == nil || n != 0 || fixed) {
					err = a.put("a-set", strconv.Itoa(n))
				}
				return err
			}
		}},
	{name: "zookeeper-517", // after a bad value the good one is not looked at
		shown: "secrets/default/a-set",
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				if !fixed && a.app.Status.Refused != "" {
					return nil
				}
				if strings.ContainsAny(a.app.Spec.Image, " ") || a.app.Spec.Image == "" {
					return a.refuse("the image")
				}
				if err := a.put("a-set", a.app.Spec.Image); err != nil {
					return err
				}
				return a.refuse("")
			}
		}},
	{name: "shrink", // leaves the last ones
		shown: "is left over",
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				n := sizeOf(a)
				for i := range 6 {
					var err error
					switch {
					case i < n:
						err = a.put(fmt.Sprintf("a-%d", i), a.app.Spec.Image)
					case fixed || i > n: // it stops at the first one
						err = a.remove(fmt.Sprintf("a-%d", i))
					}
					if err != nil {
						return err
					}
				}
				return nil
			}
		}},
	{name: "labels are only added",
		shown: "secrets/default/a-labels differs",
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				has := map[string]string{}
				s, err := a.get("a-labels")
				if err != nil {
					return err
				}
				if s != nil && !fixed {
					if err := json.Unmarshal(s.Data["v"], &has); err != nil {
						return err
					}
				}
				maps.Copy(has, a.app.Spec.Labels)
				text, err := json.Marshal(has)
				if err != nil {
					return err
				}
				return a.put("a-labels", string(text))
			}
		}},
	{name: "nobody owns it", // where the mode is Idle
		history: true, shown: "the object is deleted, and secrets/default/a-idle is left over",
		reconcile: func(fixed bool) func(apps) error {
			return func(a apps) error {
				if a.app.Spec.Mode != "Idle" {
					return a.remove("a-idle")
				}
				if fixed {
					return a.put("a-idle", "x")
				}
				return a.put("a-idle", "x", true)
			}
		}},
}

// Each bug is found by drawn objects, and the corrected program passes.
func TestBugsOfObjects(t *testing.T) {
	for i, b := range bugsOfObjects {
		if sim.Small && i%8 != 0 {
			continue // the audit has them all
		}
		for _, fixed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/fixed=%v", b.name, fixed), func(t *testing.T) {
				e := exploration(b.reconcile(fixed))
				e.Scenario.Settled, e.Scenario.Steps, e.History = b.scenario.Settled, b.scenario.Steps, b.history
				began := time.Now()
				n := 100
				if fixed {
					n = 40
				}
				if fixed && sim.Small {
					n = 10
				}
				found, err := sim.Draw(t, e, n)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d sequences of %d objects, %d refused, %d runs, %v", found.Sequences, found.Objects, found.Refused, found.Runs, time.Since(began).Round(time.Millisecond))
				if fixed {
					for _, s := range found.Stories {
						t.Error(s)
					}
					return
				}
				if len(found.Stories) == 0 {
					t.Fatal("not found")
				}
				if !strings.Contains(found.Stories[0], b.shown) {
					t.Errorf("the story lacks %q:\n%s", b.shown, found.Stories[0])
				}
				t.Log(found.Lines[0])
			})
		}
	}
}

// secret returns a Secret; nil: there is none.
func secret(ctx context.Context, cfg *rest.Config, name string) (*corev1.Secret, error) {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, err
	}
	s, err := client.Get[corev1.Secret](ctx, c, object.Key{Namespace: "default", Name: name})
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}
