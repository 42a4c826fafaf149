package ctrlcache_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/informer"
)

// How does my operator take the packed cache?
func Example() {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{NewCache: ctrlcache.New}) // the one line
	if err != nil {
		slog.Error("manager", "err", err)
		os.Exit(1)
	}
	err = ctrl.NewControllerManagedBy(mgr).For(&corev1.Pod{}).Complete(reconcile.Func(
		func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
			var pod corev1.Pod
			return ctrl.Result{}, crclient.IgnoreNotFound(mgr.GetClient().Get(ctx, req.NamespacedName, &pod))
		}))
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		slog.Error("manager", "err", err)
		os.Exit(1)
	}
}

// How do I bound and watch the memory of the cache?
func ExampleOptions_New() {
	packed := ctrlcache.Options{
		CutManagedFields: true,
		MemoryBudget:     64 << 20, // of each kind
		OnProblem:        func(p informer.Problem) { slog.Warn("cache", "kind", p.Kind, "err", p.Err) },
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{NewCache: packed.New})
	if err != nil {
		slog.Error("manager", "err", err)
		os.Exit(1)
	}
	for _, w := range mgr.GetCache().(*ctrlcache.Cache).Watches() {
		fmt.Println(w.Kind.GVK.Kind, w.Figures.Store.Objects, w.Figures.Store.Held)
	}
}
