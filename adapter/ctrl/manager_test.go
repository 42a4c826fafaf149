package ctrl_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flyball-io/flyball"
	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/option"
)

// everyReplica is a runnable that needs no lease.
type everyReplica struct{ manager.RunnableFunc }

func (everyReplica) NeedLeaderElection() bool { return false }

// Controllers of both sides run on one manager with a lease, over one watch of each kind. Runnables, checks and
// events go to Flyball.
func TestManagerRunsBothSides(t *testing.T) {
	ns := namespace(t)
	mgr, err := flyctrl.NewManager(config(t), flyball.Options{Name: "both", Logger: discard, Leader: &leader.Options{Namespace: ns}})
	must(t, err)
	got := newRecorded()
	mine := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == ns })
	must(t, mgr.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "color", func(o client.Object) []string {
		return []string{o.(*corev1.ConfigMap).Data["color"]}
	}))
	recorder := mgr.GetEventRecorder("both")
	old := mgr.GetEventRecorderFor("both")
	err = ctrl.NewControllerManagedBy(mgr).Named("theirs").
		For(&corev1.ConfigMap{}, builder.WithPredicates(mine)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: ns, Name: "of-" + o.GetName()}}}
		}), builder.WithPredicates(mine)).
		WatchesMetadata(&corev1.ServiceAccount{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(mine)).
		WithOptions(crcontroller.Options{SkipNameValidation: new(true), MaxConcurrentReconciles: 2}).
		Complete(ctrlFunc(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			var m corev1.ConfigMap
			err := mgr.GetClient().Get(ctx, req.NamespacedName, &m)
			if err == nil {
				var red corev1.ConfigMapList
				if err := mgr.GetClient().List(ctx, &red, client.InNamespace(ns), client.MatchingFields{"color": "red"}); err != nil {
					return ctrl.Result{}, err
				}
				recorder.Eventf(&m, nil, corev1.EventTypeNormal, "Seen", "Look", "seen %d", len(red.Items))
				old.Event(&m, corev1.EventTypeWarning, "Old", "seen, too")
			}
			got.add("theirs " + req.Name)
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}))
	must(t, err)
	_, err = controller.New(mgr.Flyball, "ours", flyctrl.Reconciler(ctrlFunc(func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
		got.add("ours " + req.Name)
		return ctrl.Result{}, nil
	})), flyctrl.For[corev1.ConfigMap](mine))
	must(t, err)
	for name, r := range map[string]manager.Runnable{
		"leader": manager.RunnableFunc(func(ctx context.Context) error { got.add("leader"); <-ctx.Done(); return nil }),
		"every":  everyReplica{func(ctx context.Context) error { got.add("every"); <-ctx.Done(); return nil }},
	} {
		if err := mgr.Add(r); err != nil {
			t.Fatal(name, err)
		}
	}
	must(t, mgr.AddHealthzCheck("ping", healthz.Ping))
	must(t, mgr.AddReadyzCheck("not-yet", func(*http.Request) error { return errors.New("not yet") }))
	select {
	case <-mgr.Elected():
		t.Error("elected before it ran")
	default:
	}
	c := flyctrl.NewUnfencedClient(mgr.Flyball)
	must(t, c.Create(bounded(t), configMap(ns, "a", "color", "red")))
	run(t, mgr.Start)
	got.await(t, "theirs a", "ours a", "theirs default", "leader", "every")
	<-mgr.Elected()
	must(t, c.Create(bounded(t), &corev1.Secret{ObjectMeta: configMap(ns, "s").ObjectMeta}))
	got.await(t, "theirs of-s")
	watches := 0
	for _, w := range mgr.Flyball.Cache().Watches() {
		if w.Kind.GVK.Kind == "ConfigMap" {
			watches++
		}
	}
	if watches != 1 {
		t.Errorf("ConfigMaps have %d watches", watches)
	}
	w, err := c.Watch(bounded(t), &eventsv1.EventList{}, client.InNamespace(ns))
	must(t, err)
	defer w.Stop()
	reasons := map[string]bool{}
	for e := range w.ResultChan() {
		o := e.Object.(*eventsv1.Event)
		if o.Regarding.Kind == "ConfigMap" && o.ReportingController == "both" {
			reasons[o.Reason] = true
		}
		if o.Reason == "Seen" && o.Note != "seen 1" {
			t.Errorf("the note is %q", o.Note)
		}
		if reasons["Seen"] && reasons["Old"] {
			break
		}
	}
}

// Handlers of an informer get every object once, the changes after it, and its end. A panic ends nothing.
func TestInformerHandlers(t *testing.T) {
	mgr, err := flyctrl.NewManager(config(t), flyball.Options{Name: "informers", Logger: discard})
	must(t, err)
	ns, c, got := namespace(t), mgr.GetClient(), newRecorded()
	must(t, c.Create(bounded(t), configMap(ns, "a")))
	in, err := mgr.GetCache().GetInformerForKind(t.Context(), configMaps)
	must(t, err)
	note := func(what string, o any) {
		if m, ok := o.(*corev1.ConfigMap); ok && m.Namespace == ns {
			got.add(what + " " + m.Name)
			if m.Name == "panics" {
				panic("oh")
			}
		}
	}
	h := toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { note(map[bool]string{true: "initial", false: "add"}[initial], o) },
		UpdateFunc: func(_, o any) { note("update", o) },
		DeleteFunc: func(o any) { note("delete", o) },
	}
	reg, err := in.AddEventHandler(h)
	must(t, err)
	if reg.HasSynced() || in.HasSynced() {
		t.Error("synced before the manager runs")
	}
	run(t, mgr.Start)
	ctx := bounded(t)
	if !toolscache.WaitFor(ctx, "", reg.HasSyncedChecker(), in.HasSyncedChecker()) {
		t.Fatal("the handler has not synced")
	}
	got.await(t, "initial a")
	must(t, c.Create(ctx, configMap(ns, "panics")))
	m := configMap(ns, "b")
	must(t, c.Create(ctx, m))
	got.await(t, "add b")
	m.Data = map[string]string{"a": "b"}
	must(t, c.Update(ctx, m))
	got.await(t, "update b")
	must(t, c.Delete(ctx, m))
	got.await(t, "delete b", "add panics")

	late, err := in.AddEventHandlerWithResyncPeriod(h, time.Hour)
	must(t, err)
	if !toolscache.WaitFor(ctx, "", late.HasSyncedChecker()) {
		t.Fatal("a late handler has not synced")
	}
	must(t, in.RemoveEventHandler(late))
	must(t, in.RemoveEventHandler(late))
	if err := in.RemoveEventHandler(nil); err == nil {
		t.Error("a registration of nobody was removed")
	}
	if err := in.AddIndexers(nil); err == nil {
		t.Error("an indexer of client-go was added")
	}
	if _, err := in.AddEventHandler(nil); err == nil {
		t.Error("a nil handler was added")
	}
	again, err := mgr.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	must(t, err)
	if again != in {
		t.Error("a kind has two informers")
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Error("the cache has not synced")
	}
}

// A runnable that fails stops the manager, with its error.
func TestRunnableFails(t *testing.T) {
	mgr, err := flyctrl.NewManager(config(t), flyball.Options{Name: "fails", Logger: discard})
	must(t, err)
	broken := errors.New("broken")
	must(t, mgr.Add(manager.RunnableFunc(func(context.Context) error { return broken })))
	if err := mgr.Start(bounded(t)); !errors.Is(err, broken) {
		t.Errorf("the manager ended with %v", err)
	}
	if err := mgr.Add(nil); err == nil {
		t.Error("a nil runnable was added")
	}
	if err := mgr.AddMetricsServerExtraHandler("/x", http.NotFoundHandler()); err == nil {
		t.Error("a handler beside the metrics was added")
	}
	if _, err := flyctrl.NewManager(config(t), flyball.Options{Config: &rest.Config{}}); err == nil {
		t.Error("two configurations")
	} else if _, ok := errors.AsType[*option.Error](err); !ok {
		t.Errorf("two configurations: %v", err)
	}
}

// Webhooks of controller-runtime are served by Flyball.
func TestWebhooksAreRegistered(t *testing.T) {
	mgr, err := flyctrl.NewManager(config(t), flyball.Options{Name: "hooks", Logger: discard})
	must(t, err)
	s := mgr.GetWebhookServer()
	s.Register("/validate", http.NotFoundHandler())
	if err := mgr.Flyball.Handle("/validate", http.NotFoundHandler()); err == nil {
		t.Error("Flyball does not have the path")
	}
	if _, pattern := s.WebhookMux().Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: "/validate"}}); pattern != "/validate" {
		t.Errorf("the mux says %q", pattern)
	}
	if s.StartedChecker()(nil) == nil {
		t.Error("a server that does not listen has started")
	}
	twice := func() (panicked any) {
		defer func() { panicked = recover() }()
		s.Register("/validate", http.NotFoundHandler())
		return nil
	}
	if twice() == nil {
		t.Error("a path was registered twice")
	}
	must(t, mgr.Add(s))
}
