package sim_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
)

// act is a reconcile of the operators here. The kit has the object and a client.
type act func(kit) error

// bug is an operator that was shipped with a bug, and the same without it.
type bug struct {
	name string
	// reconcile returns the function of a process that has just started.
	reconcile func(fixed bool) act
	steps     []sim.Step
	scenario  sim.Scenario // more of it
	// shown says that the bug shows without a fault, as this text.
	shown string
	// cached says that the Secrets are read from the cache, too, and that each change of one is reconciled.
	cached bool
	// options changes those of the manager; nil: it does not.
	options func(*flyball.Options)
}

// Each bug is found by the search, and the corrected program passes.
func TestBugs(t *testing.T) {
	for i, b := range slices.Concat(bugsOfCrashes, bugsOfStaleViews, bugsOfMissedEvents, bugsOfInput, otherBugs) {
		if sim.Small && i%8 != 0 {
			continue // the audit has them all
		}
		for _, fixed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/fixed=%v", b.name, fixed), func(t *testing.T) {
				s := b.scenario
				s.Steps = b.steps
				s.Program = strict(func(m *flyball.Manager, wrong func(any)) error {
					do := b.reconcile(fixed)
					return operator(m, func(k kit) error {
						defer func() {
							if r := recover(); r != nil {
								wrong(r)
							}
						}()
						return do(k)
					}, sources(b.cached)...)
				}, b.options)
				began := time.Now()
				if fixed {
					passes(t, s, began)
					return
				}
				found, err := sim.Find(t, s, 1, 0)
				switch {
				case b.shown != "" && err != nil && strings.Contains(err.Error(), b.shown):
					t.Logf("found without a fault, %v: %v", time.Since(began).Round(time.Millisecond), err)
				case err != nil:
					t.Fatal(err)
				case len(found.Plans) == 0:
					t.Fatalf("not found by %d faults", found.Done)
				default:
					t.Logf("found in run %d, %v: %s", found.Runs, time.Since(began).Round(time.Millisecond), found.Plans[0])
				}
			})
		}
	}
}

// passes searches where nothing is wrong.
func passes(t *testing.T, s sim.Scenario, began time.Time) {
	t.Helper()
	pairs := 50
	if sim.Small {
		pairs = 0
	}
	found, err := sim.Find(t, s, 0, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for _, story := range found.Stories[:min(2, len(found.Stories))] {
		t.Error(story)
	}
	t.Logf("%d faults, %d pairs, %d runs, %v: %d fail", found.Done, found.Pairs, found.Runs, time.Since(began).Round(time.Millisecond), found.Failed)
}

// strict returns a program that ends with a panic when it does something wrong: as one that panics in a goroutine of its
// own, since those of a reconcile are recovered.
func strict(add func(m *flyball.Manager, wrong func(any)) error, options ...func(*flyball.Options)) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, cfg *rest.Config) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var once sync.Once
		var what any
		err := program(func(m *flyball.Manager) error {
			return add(m, func(r any) { once.Do(func() { what = r; cancel() }) })
		}, options...)(ctx, cfg)
		once.Do(func() {})
		if what != nil {
			panic(what)
		}
		return err
	}
}

// sources returns what a controller watches beside the custom resources.
func sources(secrets bool) []controller.Source[reconcile.Request] {
	if !secrets {
		return nil
	}
	return []controller.Source[reconcile.Request]{controller.Watches[corev1.Secret](handler.MapHeader(func(_ context.Context, h *object.Header) ([]reconcile.Request, error) {
		return []reconcile.Request{{Namespace: h.Namespace, Name: h.Labels["of"]}}, nil
	}))}
}

// operator adds a controller of ConfigMaps: one with the label kind=app is a custom resource.
func operator(m *flyball.Manager, do act, more ...controller.Source[reconcile.Request]) error {
	return operatorWith(m, controller.Options{}, do, more...)
}

func operatorWith(m *flyball.Manager, o controller.Options, do act, more ...controller.Source[reconcile.Request]) error {
	_, err := controller.NewWith(m, "operator", func(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
		k := kit{ctx: ctx, c: m.Client(), live: m.Live(), key: key, result: &reconcile.Result{}}
		cm, err := client.Get[corev1.ConfigMap](ctx, m.Client(), key)
		if client.IgnoreNotFound(err) != nil || err == nil && cm.Labels["kind"] != "app" {
			return reconcile.Result{}, err
		}
		if err == nil {
			k.cm = cm
		}
		err = do(k)
		return *k.result, err
	}, o, append(more, controller.For[corev1.ConfigMap]())...)
	return err
}

// kit is what a reconcile has. Its Secrets stand for volumes, Secrets and sets.
type kit struct {
	ctx  context.Context
	c    client.Client // reads what the controller watches from the cache, all else from the server
	live *client.Live
	key  reconcile.Request
	// result is that of the reconcile.
	result *reconcile.Result
	cm     *corev1.ConfigMap // nil: it is gone
}

// want returns a value of the custom resource.
func (k kit) want(key string) string { return k.cm.Data[key] }

// deleted reports whether there is no custom resource, or none any more.
func (k kit) deleted() bool { return k.cm == nil || k.cm.DeletionTimestamp != nil }

// get reads a Secret from the server; nil: there is none.
func (k kit) get(name string) (*corev1.Secret, error) {
	s, err := client.Get[corev1.Secret](k.ctx, k.c, object.Key{Namespace: k.key.Namespace, Name: name})
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return s, nil
}

// create makes a Secret that the custom resource owns. Data are keys and values.
func (k kit) create(name string, data ...string) error {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{}}
	for i := 0; i+1 < len(data); i += 2 {
		s.StringData[data[i]] = data[i+1]
	}
	_, err := k.createOne(s)
	return err
}

// createOne makes a Secret that the custom resource owns.
func (k kit) createOne(s *corev1.Secret) (*corev1.Secret, error) {
	s.Namespace, s.Labels = k.key.Namespace, map[string]string{"of": k.key.Name}
	if k.cm != nil {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: k.cm.Name, UID: k.cm.UID}}
	}
	return client.Create(k.ctx, k.c, s)
}

// put changes a value of a Secret.
func (k kit) put(s *corev1.Secret, key, value string) error {
	s.Data = maps.Clone(s.Data)
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[key] = []byte(value)
	_, err := client.Update(k.ctx, k.c, s)
	return err
}

// remove deletes an object.
func (k kit) remove(o object.Object, opts ...client.WriteOption) error {
	return client.IgnoreNotFound(client.Delete(k.ctx, k.c, o, opts...))
}

// all lists the Secrets of the custom resource.
func (k kit) all() (out []*corev1.Secret, err error) {
	for s, err := range client.List[corev1.Secret](k.ctx, k.c, client.InNamespace(k.key.Namespace), client.MatchingLabels{"of": k.key.Name}) {
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// note writes an annotation of the custom resource: its status.
func (k kit) note(key, value string) error {
	if k.cm.Annotations[key] == value {
		return nil
	}
	k.cm.Annotations = maps.Clone(k.cm.Annotations)
	if k.cm.Annotations == nil {
		k.cm.Annotations = map[string]string{}
	}
	k.cm.Annotations[key] = value
	_, err := client.Update(k.ctx, k.c, k.cm)
	return err
}

// release removes the finalizers of the custom resource.
func (k kit) release() error {
	if len(k.cm.Finalizers) == 0 {
		return nil
	}
	k.cm.Finalizers = nil
	_, err := client.Update(k.ctx, k.c, k.cm)
	return client.IgnoreNotFound(err)
}

// again is a step that makes the custom resource, deletes it, and makes it anew.
func again(meta string) []sim.Step {
	return []sim.Step{app("a", `"x":"y"`, meta), sim.Delete("configmaps", "default/a"), app("a", `"x":"y"`, meta)}
}

const held = `,"finalizers":["sim.dev/f"]`

func app(name, data, meta string) sim.Step {
	return sim.ApplyText(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default","labels":{"kind":"app"}%s},"data":{%s}}`, name, meta, data))
}

func set(name, data string) sim.Step {
	return sim.Patch("configmaps", "default/"+name, `{"data":{`+data+`}}`)
}
