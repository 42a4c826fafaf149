package ctrl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	crreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/reconcile"
)

// A Result and an error mean on Flyball what they mean on controller-runtime.
func TestResults(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		result   ctrl.Result
		err      error
		want     reconcile.Result
		terminal bool
	}{
		"done":  {},
		"after": {result: ctrl.Result{RequeueAfter: time.Minute}, want: reconcile.Result{RequeueAfter: time.Minute}},
		//lint:ignore SA1019 programs use it
		"requeue":  {result: ctrl.Result{Requeue: true}, want: reconcile.Result{Requeue: true}},
		"priority": {result: ctrl.Result{RequeueAfter: 1, Priority: new(7)}, want: reconcile.Result{RequeueAfter: 1, Priority: new(7)}},
		"error":    {err: broken},
		"terminal": {err: fmt.Errorf("wrapped: %w", crreconcile.TerminalError(broken)), terminal: true},
	} {
		r := flyctrl.Reconciler(ctrlFunc(func(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
			if req.NamespacedName != (types.NamespacedName{Namespace: "ns", Name: "a"}) {
				t.Errorf("the request is %v", req)
			}
			return tc.result, tc.err
		}))
		got, err := r(t.Context(), reconcile.Request{Namespace: "ns", Name: "a"})
		if got.RequeueAfter != tc.want.RequeueAfter || got.Requeue != tc.want.Requeue || (got.Priority == nil) != (tc.want.Priority == nil) ||
			got.Priority != nil && *got.Priority != *tc.want.Priority {
			t.Errorf("%s: the result is %+v", name, got)
		}
		if reconcile.IsTerminal(err) != tc.terminal || errors.Is(err, broken) != (tc.err != nil) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if flyctrl.Reconciler(nil) != nil || flyctrl.TypedReconciler[int](nil) != nil {
		t.Error("a nil reconciler is none")
	}
}

// log.FromContext has the logger of the attempt.
func TestLogFromContext(t *testing.T) {
	var out bytes.Buffer
	ctx := reconcile.WithLogger(t.Context(), slog.New(slog.NewTextHandler(&out, nil)).With("attempt", 3))
	r := flyctrl.Reconciler(ctrlFunc(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		log.FromContext(ctx).WithName("pages").WithValues("a", "b").Info("done", "c", "d")
		log.FromContext(ctx).V(1).Info("hidden")
		return ctrl.Result{}, nil
	}))
	_, err := r(ctx, reconcile.Request{})
	must(t, err)
	for _, part := range []string{"attempt=3", "a=b", "c=d", "msg=done"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the log lacks %s: %s", part, out.String())
		}
	}
	if strings.Contains(out.String(), "hidden") {
		t.Errorf("the level is not kept: %s", out.String())
	}
}

// recorded collects requests, and tells when one has come.
type recorded struct {
	mu   sync.Mutex
	seen map[string]int
	come chan struct{}
}

func newRecorded() *recorded { return &recorded{seen: map[string]int{}, come: make(chan struct{}, 1)} }

func (r *recorded) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[name]++
	select {
	case r.come <- struct{}{}:
	default:
	}
}

func (r *recorded) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.add(req.Name)
	return ctrl.Result{}, nil
}

// await waits until all names have come.
func (r *recorded) await(t *testing.T, names ...string) {
	t.Helper()
	ctx := bounded(t)
	for {
		missing := ""
		r.mu.Lock()
		for _, name := range names {
			if r.seen[name] == 0 {
				missing = name
			}
		}
		r.mu.Unlock()
		if missing == "" {
			return
		}
		select {
		case <-r.come:
		case <-ctx.Done():
			t.Fatalf("no request for %s", missing)
		}
	}
}

// Handlers of all kinds cause requests, by every way to add one.
func TestHandlers(t *testing.T) {
	mgr, ns := newManager(t), namespace(t)
	got := newRecorded()
	inNamespace := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == ns })
	typedIn := predicate.NewTypedPredicateFuncs(func(m *corev1.ConfigMap) bool { return m.Namespace == ns })
	named := func(name string) ctrl.Request { return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}} }
	_, err := controller.New(mgr, "handlers", flyctrl.Reconciler(got), controller.WithoutFor(),
		flyctrl.Watches[corev1.ConfigMap](&handler.EnqueueRequestForObject{}, inNamespace),
		flyctrl.Watches[corev1.ConfigMap](handler.EnqueueRequestForOwner(mgr.Scheme(), mgr.Mapper(), &corev1.ServiceAccount{})),
		flyctrl.Watches[corev1.ConfigMap](handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{named("mapped-" + o.GetName())}
		}), inNamespace),
		flyctrl.Watches[corev1.ConfigMap](handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, m *corev1.ConfigMap) []ctrl.Request {
			return []ctrl.Request{named("typed-" + m.Name)}
		}), typedIn),
		flyctrl.WatchesKind[metav1.PartialObjectMetadata](configMaps, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{named(fmt.Sprintf("%T-%s", o, o.GetName()))}
		}), inNamespace),
		flyctrl.WatchesKind[unstructured.Unstructured](configMaps, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []ctrl.Request {
			return []ctrl.Request{named(fmt.Sprintf("%T-%s", o, o.GetName()))}
		}), inNamespace),
		flyctrl.Watches[corev1.ConfigMap](handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			q.AddAfter(named("after"), time.Millisecond)
			q.AddRateLimited(named("limited"))
			q.(priorityqueue.PriorityQueue[ctrl.Request]).AddWithOpts(priorityqueue.AddOpts{Priority: new(5)}, named("first"))
			go q.Add(named("later"))
			if _, shutdown := q.Get(); !shutdown {
				t.Error("a handler took a request")
			}
			q.Done(named("after"))
			q.ShutDown()
		}}, inNamespace),
	)
	must(t, err)
	c := flyctrl.NewClient(mgr)
	var account corev1.ServiceAccount
	must(t, c.Get(bounded(t), client.ObjectKey{Namespace: ns, Name: "default"}, &account))
	m := configMap(ns, "owned")
	must(t, ctrl.SetControllerReference(&account, m, mgr.Scheme()))
	must(t, c.Create(bounded(t), m))
	run(t, mgr.Run)
	got.await(t, "owned", "default", "mapped-owned", "typed-owned", "*v1.PartialObjectMetadata-owned", "*unstructured.Unstructured-owned", "after", "limited", "first", "later")
}

// Retries and requeues of a reconciler of controller-runtime, and its panics, are those of the controller. The
// priority of a Result is that of the next reconcile.
func TestReconcilerRuns(t *testing.T) {
	mgr := newManager(t)
	got := newRecorded()
	var mu sync.Mutex
	calls := 0
	_, err := controller.New(mgr, "once", flyctrl.TypedReconciler(crreconcile.TypedFunc[string](func(context.Context, string) (ctrl.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		got.add(fmt.Sprint("call ", calls))
		switch calls {
		case 1:
			return ctrl.Result{RequeueAfter: time.Millisecond, Priority: new(9)}, nil
		case 2:
			//lint:ignore SA1019 programs use it
			return ctrl.Result{Requeue: true}, nil
		case 3:
			return ctrl.Result{}, errors.New("once more")
		case 4:
			panic("oh")
		}
		return ctrl.Result{}, crreconcile.TerminalError(errors.New("enough"))
	})), flyctrl.TypedSource[string](source.TypedFunc[string](func(_ context.Context, q workqueue.TypedRateLimitingInterface[string]) error {
		q.Add("x")
		return nil
	})))
	must(t, err)
	run(t, mgr.Run)
	got.await(t, "call 1", "call 2", "call 3", "call 4", "call 5")
}

// Sources of all kinds feed a controller of Flyball.
func TestSources(t *testing.T) {
	mgr, ns := newManager(t), namespace(t)
	held, err := flyctrl.NewCache(mgr)
	must(t, err)
	in, err := held.GetInformer(t.Context(), &corev1.Secret{})
	must(t, err)
	events := make(chan event.GenericEvent)
	got := newRecorded()
	mine := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == ns })
	_, err = controller.New(mgr, "sources", flyctrl.Reconciler(got), controller.WithoutFor(),
		flyctrl.Source(source.Kind(held, &corev1.ConfigMap{}, &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{},
			predicate.NewTypedPredicateFuncs(func(m *corev1.ConfigMap) bool { return m.Namespace == ns }))),
		flyctrl.Source(&source.Informer{Informer: in, Handler: &handler.EnqueueRequestForObject{}, Predicates: []predicate.Predicate{mine}}),
		flyctrl.Source(source.Channel(events, &handler.EnqueueRequestForObject{})),
		flyctrl.Source(source.Func(func(_ context.Context, q queue) error {
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Name: "by-func"}})
			return nil
		})),
	)
	must(t, err)
	c := flyctrl.NewClient(mgr)
	must(t, c.Create(bounded(t), configMap(ns, "before")))
	run(t, mgr.Run)
	got.await(t, "before", "by-func")
	must(t, c.Create(bounded(t), configMap(ns, "after")))
	must(t, c.Create(bounded(t), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "secret"}}))
	events <- event.GenericEvent{Object: configMap(ns, "outside")}
	got.await(t, "after", "secret", "outside")
	if !in.HasSynced() || in.IsStopped() {
		t.Error("the informer has not synced")
	}
	must(t, held.RemoveInformer(t.Context(), &corev1.Secret{}))
	if !in.IsStopped() {
		t.Error("a removed informer runs")
	}
}

// What cannot be is refused when the controller is made.
func TestBadControllers(t *testing.T) {
	mgr := newManager(t)
	ok := flyctrl.Reconciler(newRecorded())
	for name, err := range map[string]error{
		"reconciler": second(controller.New(mgr, "a", flyctrl.Reconciler(nil), flyctrl.For[corev1.ConfigMap]())),
		"handler":    second(controller.New(mgr, "a", ok, flyctrl.For[corev1.ConfigMap](), flyctrl.Watches[corev1.Secret, client.Object](nil))),
		"predicate":  second(controller.New(mgr, "a", ok, flyctrl.For[corev1.ConfigMap](nil))),
		"watched":    second(controller.New(mgr, "a", ok, flyctrl.For[corev1.ConfigMap](), flyctrl.Watches[corev1.Secret](handler.Funcs{}, nil))),
		"source":     second(controller.New(mgr, "a", ok, flyctrl.For[corev1.ConfigMap](), flyctrl.Source(nil))),
		"type": second(controller.New(mgr, "a", ok, flyctrl.For[corev1.ConfigMap](),
			flyctrl.Watches[corev1.Secret](handler.TypedFuncs[*corev1.ConfigMap, ctrl.Request]{}))),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err := flyctrl.NewCache(mgr)
	must(t, err)
	if _, err := flyctrl.NewCache(mgr); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("two caches on one manager: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
