package ctrl_test

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flyball-io/flyball"
	flyctrl "github.com/flyball-io/flyball/adapter/ctrl"
	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/controller"
)

// SiteReconciler was written for controller-runtime: it keeps a page for each ConfigMap that is a site. Nothing of
// it changes.
type SiteReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

func (r *SiteReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	page := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name + "-page"}}
	did, err := ctrl.CreateOrUpdate(ctx, r.Client, page, func() error {
		page.Data = map[string][]byte{"html": []byte("<h1>" + site.Data["title"] + "</h1>")}
		return ctrl.SetControllerReference(&site, page, r.Scheme)
	})
	log.FromContext(ctx).V(1).Info("page", "did", did)
	return ctrl.Result{}, err
}

// isSite is a predicate of controller-runtime.
var isSite = predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetLabels()["kind"] == "site" })

func (r *SiteReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}, builder.WithPredicates(isSite)).
		Owns(&corev1.Secret{}).
		Complete(r)
}

// How does my operator of controller-runtime run on Flyball's manager? By the line that makes the manager.
func Example() {
	mgr, err := flyctrl.NewManager(exampleConfig(), flyball.Options{Name: "sites", Logger: discard}) // the one line
	if err != nil {
		slog.Error("manager", "err", err)
		return
	}
	if err := (&SiteReconciler{mgr.GetClient(), mgr.GetScheme()}).SetupWithManager(mgr); err != nil {
		slog.Error("setup", "err", err)
		return
	}
	stop := background(mgr.Start)
	defer stop()
	fmt.Println(publish("example-one", "one cache"))
	// Output: <h1>one cache</h1>
}

// How does one of my controllers move to Flyball's? By its setup. Its reconciler stays.
func ExampleReconciler() {
	mgr, err := flyball.New(flyball.Options{Name: "sites", Config: exampleConfig(), Logger: discard})
	if err != nil {
		slog.Error("manager", "err", err)
		return
	}
	r := &SiteReconciler{flyctrl.NewClient(mgr), mgr.Scheme()}
	if _, err := controller.New(mgr, "sites", flyctrl.Reconciler(r),
		flyctrl.For[corev1.ConfigMap](isSite),
		flyctrl.Owns[corev1.Secret](),
	); err != nil {
		slog.Error("setup", "err", err)
		return
	}
	stop := background(mgr.Run)
	defer stop()
	fmt.Println(publish("example-two", "one queue"))
	// Output: <h1>one queue</h1>
}

// How does an operator that stays with controller-runtime use child, condition and finalizer?
func ExampleForHelpers() {
	mgr, err := ctrl.NewManager(exampleConfig(), ctrl.Options{
		NewCache: ctrlcache.New, Metrics: noMetrics, Controller: anyName,
	})
	if err != nil {
		slog.Error("manager", "err", err)
		return
	}
	c := flyctrl.ForHelpers(mgr.GetClient(), mgr.GetAPIReader())
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.ConfigMap{}, builder.WithPredicates(isSite)).Owns(&corev1.Secret{}).
		Complete(ctrlFunc(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			var site corev1.ConfigMap
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, &site); err != nil {
				return ctrl.Result{}, client.IgnoreNotFound(err)
			}
			_, _, err := child.Ensure(ctx, c, &site, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Name: site.Name + "-page"},
				StringData: map[string]string{"html": "<h1>" + site.Data["title"] + "</h1>"},
			})
			return ctrl.Result{}, err
		}))
	if err != nil {
		slog.Error("setup", "err", err)
		return
	}
	stop := background(mgr.Start)
	defer stop()
	fmt.Println(publish("example-three", "one helper"))
	// Output: <h1>one helper</h1>
}
