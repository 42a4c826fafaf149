// Package simulated has what frameworks have had wrong, for programs of controller-runtime. sim/framework_test.go has it for
// those of Flyball.
package simulated

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/leaktest"
	_ "github.com/flyball-io/flyball/internal/simpart"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/sim"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	if tier.InAudit() {
		if err := flag.Set("sim.pairs", "50"); err != nil { // unless the command line has more
			panic(err)
		}
	}
	leaktest.Main(apiserver.Wrap(m))
}

// operator is what a reconcile has.
type operator struct {
	client.Client
	live client.Reader // the server, and not the cache
}

// act reconciles an object; nil stands for one that is gone.
type act func(ctx context.Context, o operator, key client.ObjectKey, cm *corev1.ConfigMap) error

// program returns a program with one controller, of the ConfigMaps with the label kind=app.
func program(do act, also ...func(*builder.Builder)) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		again := true // the program starts many times in one process
		mgr, err := ctrl.NewManager(cfg, ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &again}})
		if err != nil {
			return err
		}
		o := operator{mgr.GetClient(), mgr.GetAPIReader()}
		b := ctrl.NewControllerManagedBy(mgr).Named("operator").For(&corev1.ConfigMap{})
		for _, more := range also {
			more(b)
		}
		if err := b.Complete(reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			cm := &corev1.ConfigMap{}
			switch err := o.Get(ctx, req.NamespacedName, cm); {
			case client.IgnoreNotFound(err) != nil:
				return ctrl.Result{}, err
			case err != nil:
				cm = nil
			case cm.Labels["kind"] != "app":
				return ctrl.Result{}, nil
			}
			return ctrl.Result{}, do(ctx, o, req.NamespacedName, cm)
		})); err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
}

// secrets reconciles the object that the label of a Secret names.
func secrets(b *builder.Builder) {
	b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, s client.Object) []ctrl.Request {
		return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: s.GetNamespace(), Name: s.GetLabels()["of"]}}}
	}))
}

// secret reads a Secret from the server; nil: there is none.
func (o operator) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	s := &corev1.Secret{}
	if err := o.live.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, s); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// child returns a Secret that an object owns.
func (o operator) child(cm *corev1.ConfigMap, name string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"of": cm.Name}}, Data: map[string][]byte{}}
	if err := controllerutil.SetControllerReference(cm, s, o.Scheme()); err != nil {
		panic(err) // both are in one namespace
	}
	return s
}

// copies keeps the value x of an object in a Secret.
func copies(ctx context.Context, o operator, _ client.ObjectKey, cm *corev1.ConfigMap) error {
	if cm == nil {
		return nil
	}
	s, err := o.secret(ctx, "a-copy")
	switch {
	case err != nil:
		return err
	case s == nil:
		s = o.child(cm, "a-copy")
		s.Data["x"] = []byte(cm.Data["x"])
		return o.Create(ctx, s)
	case string(s.Data["x"]) == cm.Data["x"]:
		return nil
	}
	s.Data["x"] = []byte(cm.Data["x"])
	return o.Update(ctx, s)
}

// get reads an object at rest. It reports false if there is none.
func get(ctx context.Context, cfg *rest.Config, name string, into client.Object) (bool, error) {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return false, err
	}
	err = c.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, into)
	return err == nil, client.IgnoreNotFound(err)
}

// copied says that the copy is that of the present value.
var copied = sim.Holds("the last value is copied", func(ctx context.Context, cfg *rest.Config) error {
	var cm corev1.ConfigMap
	var s corev1.Secret
	if ok, err := get(ctx, cfg, "a", &cm); err != nil || !ok || cm.Data["bad"] == "yes" {
		return err
	}
	if ok, err := get(ctx, cfg, "a-copy", &s); err != nil || !ok || string(s.Data["x"]) != cm.Data["x"] {
		return errors.Join(err, fmt.Errorf("the copy is %q, want %q", s.Data["x"], cm.Data["x"]))
	}
	return nil
})

func app(name, data string) sim.Step {
	return sim.ApplyText(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default","labels":{"kind":"app"}},"data":{%s}}`, name, data))
}

func set(name, data string) sim.Step {
	return sim.Patch("configmaps", "default/"+name, `{"data":{`+data+`}}`)
}

func merge(text string) client.Patch {
	return client.RawPatch("application/merge-patch+json", []byte(text))
}

// A user edits the spec while the program writes a status that changes nothing. The edit is handled (java-operator-sdk
// 3484).
func TestEditDuringAWriteThatChangesNothing(t *testing.T) {
	sim.Check(t, sim.Scenario{
		Program: program(func(ctx context.Context, o operator, key client.ObjectKey, cm *corev1.ConfigMap) error {
			if cm == nil {
				return nil
			}
			if err := o.Patch(ctx, cm.DeepCopy(), merge(`{"metadata":{"annotations":{"seen":"yes"}}}`)); err != nil {
				return client.IgnoreNotFound(err)
			}
			return copies(ctx, o, key, cm)
		}),
		Others: map[string]func(context.Context, *rest.Config) error{
			"user": program(func(ctx context.Context, o operator, _ client.ObjectKey, cm *corev1.ConfigMap) error {
				if cm == nil || cm.Data["next"] == "" || cm.Data["next"] == cm.Data["x"] {
					return nil
				}
				return client.IgnoreNotFound(o.Patch(ctx, cm.DeepCopy(), merge(fmt.Sprintf(`{"data":{"x":%q}}`, cm.Data["next"]))))
			}),
		},
		Steps:   []sim.Step{app("a", `"x":"1"`), set("a", `"next":"2"`), set("a", `"next":"3"`)},
		Settled: []sim.Invariant{copied},
	})
}

// A child that drops its owner, or takes another one, is news for the owner that it had.
func TestOldOwnerIsReconciled(t *testing.T) {
	sim.Check(t, sim.Scenario{
		Program: program(func(ctx context.Context, o operator, _ client.ObjectKey, cm *corev1.ConfigMap) error {
			if cm == nil {
				return nil
			}
			var all corev1.SecretList
			if err := o.List(ctx, &all, client.InNamespace("default")); err != nil {
				return err
			}
			n := 0
			for i := range all.Items {
				if metav1.IsControlledBy(&all.Items[i], cm) {
					n++
				}
			}
			return o.Patch(ctx, cm.DeepCopy(), merge(fmt.Sprintf(`{"metadata":{"annotations":{"children":"%d"}}}`, n)))
		}, func(b *builder.Builder) { b.Owns(&corev1.Secret{}) }),
		Steps: []sim.Step{
			sim.Together(app("a", `"x":"y"`), app("b", `"x":"y"`), sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}`)),
			owned("a"), owned("b"), owned(""),
		},
		Settled: []sim.Invariant{sim.Holds("the owners know their children", func(ctx context.Context, cfg *rest.Config) error {
			var s corev1.Secret
			if _, err := get(ctx, cfg, "s", &s); err != nil {
				return err
			}
			for _, name := range []string{"a", "b"} {
				var cm corev1.ConfigMap
				if _, err := get(ctx, cfg, name, &cm); err != nil {
					return err
				}
				if want := map[bool]string{true: "1", false: "0"}[metav1.IsControlledBy(&s, &cm)]; cm.Annotations["children"] != want {
					return fmt.Errorf("%s knows of %s children, want %s", name, cm.Annotations["children"], want)
				}
			}
			return nil
		})},
	})
}

// owned is a step in which the Secret s gets the object of a name as its controller; "" means none.
func owned(name string) sim.Step {
	return sim.Do("s gets the owner "+strconv.Quote(name), func(ctx context.Context, cfg *rest.Config) error {
		c, err := client.New(cfg, client.Options{})
		if err != nil {
			return err
		}
		var s corev1.Secret
		if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "s"}, &s); err != nil {
			return err
		}
		s.OwnerReferences = nil
		if name != "" {
			var cm corev1.ConfigMap
			if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &cm); err != nil {
				return err
			}
			s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&cm, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
		}
		return c.Update(ctx, &s)
	})
}

// The event that mends the cause of a failure is handled at once, and not at the end of the backoff (zookeeper-operator
// 1049).
func TestEventCutsABackoff(t *testing.T) {
	slow := func(b *builder.Builder) {
		b.WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](30*time.Second, time.Hour)})
	}
	sim.Check(t, sim.Scenario{
		Program: program(func(ctx context.Context, o operator, key client.ObjectKey, cm *corev1.ConfigMap) error {
			if cm != nil && cm.Data["bad"] == "yes" {
				return errors.New("bad")
			}
			return copies(ctx, o, key, cm)
		}, slow),
		Steps:   []sim.Step{app("a", `"x":"1"`), set("a", `"bad":"yes","x":"2"`), set("a", `"bad":"no"`)},
		Settled: []sim.Invariant{copied},
	})
}

// Of a burst of events the last state is handled, by several workers too.
func TestBurstOfEvents(t *testing.T) {
	var burst []sim.Step
	for i := range 5 {
		burst = append(burst, set("a", fmt.Sprintf(`"x":"%d"`, i)))
	}
	sim.Check(t, sim.Scenario{
		Program: program(copies, func(b *builder.Builder) { b.WithOptions(controller.Options{MaxConcurrentReconciles: 4}) }),
		Steps:   []sim.Step{app("a", `"x":"y"`), sim.Together(burst...), set("a", `"x":"last"`)},
		Settled: []sim.Invariant{copied},
	})
}

// Two programs fight over an object for a while. The last event of the fight is handled (Crossplane 6910 and others).
func TestLastEventOfAFight(t *testing.T) {
	const rounds = 3
	sim.Check(t, sim.Scenario{
		Program: program(copies, secrets),
		Others: map[string]func(context.Context, *rest.Config) error{
			"rival": program(func(ctx context.Context, o operator, _ client.ObjectKey, _ *corev1.ConfigMap) error {
				s, err := o.secret(ctx, "a-copy")
				if err != nil || s == nil || string(s.Data["x"]) == "rival" {
					return err
				}
				n, err := strconv.Atoi("0" + string(s.Data["round"]))
				if err != nil || n >= rounds {
					return err
				}
				s.Data["round"], s.Data["x"] = []byte(strconv.Itoa(n+1)), []byte("rival")
				return o.Update(ctx, s)
			}, secrets),
		},
		Steps:   []sim.Step{app("a", `"x":"1"`), set("a", `"x":"2"`)},
		Settled: []sim.Invariant{copied},
	})
}
