package controller_test

import (
	"context"
	"log"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

var (
	mgr        *flyball.Manager
	reconciler reconcile.Reconciler[reconcile.Request]
)

// How does a controller name its kind, and the other kinds that it watches?
func ExampleNew() {
	ofApp := func(_ context.Context, pod *corev1.Pod) ([]reconcile.Request, error) {
		return []reconcile.Request{{Namespace: pod.Namespace, Name: pod.Labels["app"]}}, nil
	}
	_, err := controller.New(mgr, "apps", reconciler,
		controller.For[appsv1.Deployment](predicate.GenerationChanged()),
		controller.Owns[appsv1.ReplicaSet](),
		controller.Watches[corev1.Pod](handler.Map(ofApp), predicate.LabelsChanged()))
	if err != nil {
		log.Fatal(err)
	}
}

// How are retries spaced, and a reconcile bounded?
func ExampleNewWith() {
	o := controller.Options{
		Workers:          4,
		ReconcileTimeout: 30 * time.Second,
		RateLimiter: func() workqueue.RateLimiter[any] {
			return workqueue.ExponentialLimiter[any](100*time.Millisecond, 5*time.Minute)
		},
	}
	if _, err := controller.NewWith(mgr, "apps", reconciler, o, controller.For[appsv1.Deployment]()); err != nil {
		log.Fatal(err)
	}
}

// How does a controller watch a kind that is known at run time, or metadata only?
func ExampleForKind() {
	shop := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}
	order := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Order"}
	stock := func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		s, err := client.Get[unstructured.Unstructured](ctx, mgr.Client(), req, client.OfKind(shop))
		if err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		reconcile.Logger(ctx).Info("stocking", "shop", s.GetName())
		return reconcile.Result{}, nil
	}
	_, err := controller.New(mgr, "shops", stock,
		controller.ForKind[unstructured.Unstructured](shop),
		controller.OwnsKind[metav1.PartialObjectMetadata](order))
	if err != nil {
		log.Fatal(err)
	}
}

// How do events from outside the cluster come in?
func ExampleChannel() {
	pushed := make(chan *appsv1.Deployment) // for example by a webhook of an image registry
	_, err := controller.New(mgr, "images", reconciler,
		controller.For[appsv1.Deployment](),
		controller.Channel(pushed, handler.Self()))
	if err != nil {
		log.Fatal(err)
	}
}

// tenantKey is a request that is more than the name of an object.
type tenantKey struct {
	Tenant, Name string
}

// How can a request be of another type than the name of an object?
func ExampleWatches() {
	bill := func(ctx context.Context, req tenantKey) (reconcile.Result, error) {
		reconcile.Logger(ctx).Info("billing", "tenant", req.Tenant)
		return reconcile.Result{RequeueAfter: time.Hour}, nil
	}
	ofTenant := handler.MapHeader(func(_ context.Context, h *object.Header) ([]tenantKey, error) {
		return []tenantKey{{Tenant: h.Labels["tenant"], Name: h.Name}}, nil
	})
	_, err := controller.New(mgr, "tenants", bill, controller.Watches[corev1.ConfigMap](ofTenant))
	if err != nil {
		log.Fatal(err)
	}
}

// How is a controller added and removed while the program runs?
func ExampleController_Close() {
	c, err := controller.New(mgr, "for-a-while", reconciler, controller.For[corev1.Pod]())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close() // when it returns, its reconciles have ended, and so have its watches, unless others use them
}
