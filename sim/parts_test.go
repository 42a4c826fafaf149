package sim_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/finalizer"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/sim"
)

// parts is an operator that uses what the samples do not: an index by a function, predicates, a slow handler, requeues,
// children of each kind, and a clean-up outside of its owner. Its apps are ConfigMaps of kind=app. The value of their
// Secrets is that of another ConfigMap, their base.
type parts struct {
	*flyball.Manager
	changed chan object.Key // a handler has seen a Secret change

	mu    sync.Mutex
	works map[object.Key]bool // requests that are being reconciled
	seen  map[string]string   // what the handler has been told of the Secrets that have a value
}

// aged is the age at which an app gets a Secret more.
const aged = 5 * time.Second

func runParts(ctx context.Context, cfg *rest.Config) error {
	m, err := flyball.New(flyball.Options{Name: "parts", Config: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	p := &parts{Manager: m, changed: make(chan object.Key, 1000), works: map[object.Key]bool{}, seen: map[string]string{}}
	if err := cache.IndexField(m.Cache(), "base", func(c *corev1.ConfigMap) []string { return []string{c.Data["base"]} }); err != nil {
		return err
	}
	_, err = controller.NewWith(m, "apps", p.reconcile, controller.Options{Workers: 2},
		controller.For[corev1.ConfigMap](predicate.Or(predicate.LabelsChanged("kind"), predicate.SpecChanged(), predicate.DeletionRequested())),
		controller.Owns[corev1.Secret](predicate.SpecChanged()),
		controller.Watches[corev1.ConfigMap](handler.Map(p.appsOf)))
	if err != nil {
		return err
	}
	_, err = controller.NewWith(m, "summary", p.summarize, controller.Options{}, controller.WithoutFor(), controller.Requests(p.feed))
	if err != nil {
		return err
	}
	secrets, err := cache.Open[corev1.Secret](ctx, m.Cache())
	if err != nil {
		return err
	}
	_, err = secrets.AddHandler(informer.Handler[corev1.Secret]{
		OnAdd: func(s *corev1.Secret, _ bool) { p.saw(s, string(s.Data["v"])) },
		OnUpdate: func(_, s *corev1.Secret) { // it is slow: it asks the server first, and others go on meanwhile
			_, _ = client.Get[corev1.Secret](ctx, p.Live(), object.KeyOf(s)) // an error changes nothing
			p.saw(s, string(s.Data["v"]))
		},
		OnDelete: func(s *corev1.Secret, _ bool) { p.saw(s, "") },
	})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// saw notes what the handler has been told.
func (p *parts) saw(s *corev1.Secret, v string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.seen, s.Name); v != "" {
		p.seen[s.Name] = v
	}
	p.tell()
}

// tell asks for another summary.
func (p *parts) tell() { p.changed <- object.Key{Namespace: "default", Name: "summary"} }

func (p *parts) feed(ctx context.Context, add func(reconcile.Request)) error {
	for {
		select {
		case k := <-p.changed:
			add(k)
		case <-ctx.Done():
			return nil
		}
	}
}

// summarize writes down what the handler has been told, and which apps the cache lists.
func (p *parts) summarize(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	p.mu.Lock()
	data := maps.Clone(p.seen)
	p.mu.Unlock()
	for a, err := range client.List[corev1.ConfigMap](ctx, p.Client(), client.InNamespace(key.Namespace), client.MatchingLabels{"kind": "app"}) {
		if err != nil {
			return reconcile.Result{}, err
		}
		data["apps"] += " " + a.Name
	}
	_, err := client.Apply(ctx, p.Client(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: data}, "summary", client.Force{})
	return reconcile.Result{}, err
}

// appsOf requests the apps with a base.
func (p *parts) appsOf(ctx context.Context, base *corev1.ConfigMap) (out []reconcile.Request, err error) {
	for c, err := range client.List[corev1.ConfigMap](ctx, p.Client(), client.InNamespace(base.Namespace), client.MatchingFields{"base": base.Name}) {
		if err != nil {
			return nil, err
		}
		out = append(out, object.KeyOf(c))
	}
	return out, nil
}

// wrong leaves an object that no run without faults has.
func (p *parts) wrong(ctx context.Context, what string) error {
	_, err := client.Create(ctx, p.Live(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "wrong-" + what}})
	return err
}

func (p *parts) reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	p.mu.Lock()
	twice := p.works[key]
	p.works[key] = true
	p.mu.Unlock()
	if twice {
		return reconcile.Result{}, p.wrong(ctx, "twice")
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.works, key)
	}()
	a, err := client.Get[corev1.ConfigMap](ctx, p.Client(), key)
	if key.Name != "summary" {
		p.tell()
	}
	if err != nil || a.Labels["kind"] != "app" {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	outside := object.Key{Namespace: "default", Name: a.Name + "-outside"}
	a, err = finalizer.Run(ctx, p.Client(), a, "parts.test/outside", finalizer.Do("outside", func(ctx context.Context, _ *corev1.ConfigMap) error {
		return p.removeOutside(ctx, a, outside)
	}))
	if a == nil {
		return finalizer.Result(err)
	}
	if _, err := client.Get[corev1.ConfigMap](ctx, p.Live(), outside); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	} else if err != nil {
		if lives, err := p.lives(ctx, a); !lives {
			return reconcile.Result{}, err
		}
		if _, err := client.Create(ctx, p.Live(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: outside.Namespace, Name: outside.Name}}); err != nil {
			return reconcile.Result{}, err
		}
	}
	return p.children(ctx, a)
}

// lives asks the server whether an app is not being deleted: the cache may show one that is gone.
func (p *parts) lives(ctx context.Context, a *corev1.ConfigMap) (bool, error) {
	now, err := client.Get[corev1.ConfigMap](ctx, p.Live(), object.KeyOf(a))
	return err == nil && now.UID == a.UID && now.DeletionTimestamp == nil, client.IgnoreNotFound(err)
}

// removeOutside is the clean-up of an app. One that is gone has been cleaned up.
func (p *parts) removeOutside(ctx context.Context, a *corev1.ConfigMap, outside object.Key) error {
	now, err := client.Get[corev1.ConfigMap](ctx, p.Live(), object.KeyOf(a))
	if err != nil || now.UID != a.UID {
		return client.IgnoreNotFound(err)
	}
	o, err := client.Get[corev1.ConfigMap](ctx, p.Live(), outside)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return client.IgnoreNotFound(client.Delete(ctx, p.Live(), o, client.IfUID(o.UID)))
}

// children makes the Secrets of an app what they should be.
func (p *parts) children(ctx context.Context, a *corev1.ConfigMap) (reconcile.Result, error) {
	base, err := client.Get[corev1.ConfigMap](ctx, p.Client(), object.Key{Namespace: a.Namespace, Name: a.Data["base"]})
	if err != nil {
		return reconcile.Result{}, err // comes again, with the base or after a while
	}
	names := strings.Split(a.Data["names"], ",")
	again := time.Hour
	if age := time.Since(a.CreationTimestamp.Time); age >= aged {
		names = append(names, "aged")
	} else {
		again = aged - age
	}
	var errs []error
	for _, name := range names {
		want := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: a.Name + "-" + name}, Data: map[string][]byte{"v": []byte(base.Data["v"])}}
		if _, _, err := child.Ensure(ctx, p.Client(), a, want, child.Force()); !child.IsTaken(err) {
			errs = append(errs, err)
		}
	}
	login := a.Name + "-login"
	_, _, err = child.Once(ctx, p.Client(), a, login, func() (*corev1.Secret, error) {
		return &corev1.Secret{Data: map[string][]byte{"made": fmt.Append(nil, time.Now().Unix())}}, nil
	})
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return reconcile.Result{}, err
	}
	_, err = child.Prune(ctx, p.Client(), a, func(s *corev1.Secret) bool {
		return s.Name == login || slices.Contains(names, strings.TrimPrefix(s.Name, a.Name+"-"))
	})
	return reconcile.Result{RequeueAfter: again}, err
}

// expected is what must be there, by the apps that there are.
func expected(ctx context.Context, cfg *rest.Config) error {
	return asUser(cfg, func(c *client.Live) error { return areExpected(ctx, c) })
}

func areExpected(ctx context.Context, c *client.Live) error {
	all := map[string]*corev1.ConfigMap{}
	for m, err := range client.List[corev1.ConfigMap](ctx, c, client.InNamespace("default")) {
		if err != nil {
			return err
		}
		all[m.Name] = m
	}
	want, apps := map[string]string{"a-mine": "user"}, ""
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		if m.Labels["kind"] == "app" {
			apps += " " + name
		}
		of, outside := strings.CutSuffix(name, "-outside")
		switch {
		case strings.HasPrefix(name, "wrong-"):
			return fmt.Errorf("the program says that something is %s", name)
		case outside && all[of] == nil:
			return fmt.Errorf("%s is left over", name)
		case m.Labels["kind"] != "app" || all[m.Data["base"]] == nil:
		default:
			if all[name+"-outside"] == nil {
				return fmt.Errorf("%s has nothing outside", name)
			}
			for _, child := range append(strings.Split(m.Data["names"], ","), "aged") {
				if full := name + "-" + child; full != "a-mine" {
					want[full] = all[m.Data["base"]].Data["v"]
				}
			}
			want[name+"-login"] = ""
		}
	}
	told := map[string]string{}
	if apps != "" {
		told["apps"] = apps
	}
	for s, err := range client.List[corev1.Secret](ctx, c, client.InNamespace("default")) {
		if err != nil {
			return err
		}
		v, wanted := want[s.Name]
		if !wanted {
			return fmt.Errorf("the Secret %s is left over", s.Name)
		}
		if v != string(s.Data["v"]) {
			return fmt.Errorf("the Secret %s has %s, and should have %s", s.Name, s.Data["v"], v)
		}
		if v != "" {
			told[s.Name] = v
		}
		if made, err := strconv.ParseInt(string(s.Data["made"]), 10, 64); err == nil && s.CreationTimestamp.Unix()-made > 2 || made > s.CreationTimestamp.Unix() {
			return fmt.Errorf("the Secret %s was made at %d, and has a value of %d", s.Name, s.CreationTimestamp.Unix(), made)
		}
		delete(want, s.Name)
	}
	if delete(want, "a-mine"); len(want) > 0 {
		return fmt.Errorf("there are no Secrets %v", slices.Sorted(maps.Keys(want)))
	}
	if m := all["summary"]; m != nil && !maps.Equal(m.Data, told) {
		return fmt.Errorf("the summary is %v, and should be %v", m.Data, told)
	}
	return nil
}

// spoil sets a value of a child, if there is one.
func spoil(ctx context.Context, cfg *rest.Config) error {
	return asUser(cfg, func(c *client.Live) error {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b-aged"}}
		_, err := client.Patch(ctx, c, s, client.MergePatch(`{"data":{"v":"eA=="}}`))
		return client.IgnoreNotFound(err)
	})
}

// remove deletes a child, if there is one, and the Secret that was in the way of another.
func remove(ctx context.Context, cfg *rest.Config) error {
	return asUser(cfg, func(c *client.Live) error {
		var errs []error
		for _, name := range []string{"b-x", "a-mine"} {
			s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
			errs = append(errs, client.IgnoreNotFound(client.Delete(ctx, c, s)))
		}
		return errors.Join(errs...)
	})
}

func asUser(cfg *rest.Config, do func(*client.Live) error) error {
	c, err := client.New(cfg, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

// Each part does what its contract says, whatever goes wrong.
func TestParts(t *testing.T) {
	base := func(v string) sim.Step {
		return sim.ApplyText(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: base, namespace: default}, data: {v: %q}}`, v))
	}
	s := sim.Scenario{
		Program:  runParts,
		Corrects: []string{"secrets"},
		Ignore:   []string{"Secret data.made", "Secret metadata.annotations"},
		Steps: []sim.Step{
			sim.Together(base("1"), sim.ApplyText(`{apiVersion: v1, kind: Secret, metadata: {name: a-mine, namespace: default}, stringData: {v: user}}`),
				app("a", `"base":"base","names":"x,mine"`, ""), app("b", `"base":"none","names":"x"`, "")),
			sim.Together(base("2"), set("a", `"names":"y,mine"`), set("b", `"base":"base"`)),
			sim.Together(base("3"), sim.Delete("configmaps", "default/a")), // that b has this base now, an index knows alone
			sim.Together(sim.Do("spoil secrets default/b-aged", spoil), sim.Do("delete secrets default/b-x, default/a-mine", remove),
				sim.Delete("configmaps", "default/base"), base("4"), app("a", `"base":"base","names":"x"`, "")),
		},
		Settled: []sim.Invariant{sim.Holds("all is as the apps say", expected)},
	}
	if sim.Small {
		s.Steps = s.Steps[:2]
	}
	sim.Check(t, s)
}
