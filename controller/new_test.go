package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/workqueue"
)

type unregistered struct{ corev1.Pod }

func TestNewNamesWhatIsWrong(t *testing.T) {
	nothing := func(context.Context, *corev1.Pod) ([]reconcile.Request, error) { return nil, nil }
	pods := controller.Watches[corev1.Pod](handler.Self())
	works := new(recorder).Reconcile
	for name, tc := range map[string]struct {
		name    string
		r       reconcile.Reconciler[reconcile.Request]
		o       controller.Options
		sources []controller.Source[reconcile.Request]
		want    error
		says    string
	}{
		"no name":                  {r: works, sources: one(forDeployments()), says: "name: controller has no name"},
		"no reconciler":            {name: "c", sources: one(forDeployments()), says: `"c": reconciler: reconciler is nil`},
		"no For":                   {name: "c", r: works, sources: one(pods), says: "For is missing"},
		"nothing":                  {name: "c", r: works, says: "For is missing"},
		"without all":              {name: "c", r: works, sources: one(controller.WithoutFor()), says: "controller has no source"},
		"two For":                  {name: "c", r: works, sources: one(forDeployments(), controller.For[corev1.Pod]()), says: "For(Pod): For is given twice"},
		"Owns without For":         {name: "c", r: works, sources: one(controller.WithoutFor(), controller.Owns[corev1.Pod]()), says: "Owns(Pod): For is missing"},
		"nil handler":              {name: "c", r: works, sources: one(forDeployments(), controller.Watches[corev1.Pod, reconcile.Request](nil)), says: "Watches(*v1.Pod): handler is nil"},
		"nil predicate":            {name: "c", r: works, sources: one(controller.For[corev1.Pod](predicate.LabelsChanged(), nil)), says: "predicate 1 is nil"},
		"nil channel":              {name: "c", r: works, sources: one(forDeployments(), controller.Channel[corev1.Pod](nil, handler.Self())), says: "Channel(*v1.Pod): controller has no source"},
		"nil feed":                 {name: "c", r: works, sources: one(forDeployments(), controller.Requests[reconcile.Request](nil)), says: "controller has no source"},
		"unknown type":             {name: "c", r: works, sources: one(controller.For[unregistered]()), want: &object.UnknownKindError{}, says: "unregistered"},
		"kind of another type":     {name: "c", r: works, sources: one(controller.ForKind[corev1.Pod](nodeGVK)), want: &object.UnknownKindError{}, says: "it is /v1, Kind=Pod, not /v1, Kind=Node"},
		"owner of another type":    {name: "c", r: works, sources: one(forDeployments(), controller.Watches[corev1.Pod](handler.OwnerKind[corev1.Pod](nodeGVK, handler.Any))), want: &object.UnknownKindError{}, says: "Kind=Node"},
		"kind not named":           {name: "c", r: works, sources: one(controller.For[unstructured.Unstructured]()), want: &object.UnknownKindError{}, says: "names no apiVersion and kind"},
		"handler of another":       {name: "c", r: works, sources: one(forDeployments(), controller.Watches[corev1.Node](handler.Map(nothing))), want: &controller.TypeMismatchError{}, says: "watches *v1.Node, but the handler maps *v1.Pod"},
		"handler of whole objects": {name: "c", r: works, sources: one(forDeployments(), controller.WatchesKind[metav1.PartialObjectMetadata](podGVK, handler.Map(nothing))), want: &controller.TypeMismatchError{}, says: "watches *v1.PartialObjectMetadata, but the handler maps *v1.Pod"},
		"handler of another kind":  {name: "c", r: works, sources: one(forDeployments(), controller.WatchesKind[unstructured.Unstructured](nodeGVK, handler.Map(nothing))), want: &controller.TypeMismatchError{}, says: "watches *unstructured.Unstructured, but the handler maps *v1.Pod"},
		"owner of no kind":         {name: "c", r: works, sources: one(forDeployments(), controller.Watches[corev1.Pod](handler.Owner[unregistered](handler.Any))), says: "unregistered"},
		"negative workers":         {name: "c", r: works, o: controller.Options{Workers: -1}, sources: one(forDeployments()), says: "Workers: negative"},
		"nil limiter":              {name: "c", r: works, o: controller.Options{RateLimiter: func() workqueue.RateLimiter[any] { return nil }}, sources: one(forDeployments()), says: "RateLimiter"},
		"limiter of nothing": {name: "c", r: works, o: controller.Options{RateLimiter: func() workqueue.RateLimiter[any] {
			return workqueue.ExponentialLimiter[any](0, time.Second)
		}}, sources: one(forDeployments()), says: "RateLimiter: workqueue.Options: RateLimiter: "},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager()
			c, err := controller.NewWith(m, tc.name, tc.r, tc.o, tc.sources...)
			if c != nil || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("%v, %v; want an error that says %q", c, err, tc.says)
			}
			var bad *option.Error
			if !errors.As(err, &bad) {
				t.Errorf("%T is no *option.Error", err)
			}
			switch want := tc.want.(type) {
			case nil:
			case *object.UnknownKindError:
				if !errors.As(err, &want) {
					t.Errorf("%v is no %T", err, want)
				}
			case *controller.TypeMismatchError:
				if !errors.As(err, &want) {
					t.Errorf("%v is no %T", err, want)
				}
			default:
				if !errors.Is(err, want) {
					t.Errorf("%v is not %v", err, want)
				}
			}
			if len(m.members) != 0 {
				t.Error("the manager was given something all the same")
			}
		})
	}
}

func one(sources ...controller.Source[reconcile.Request]) []controller.Source[reconcile.Request] {
	return sources
}

func TestNamesAreTakenOnce(t *testing.T) {
	m := newManager()
	newController(t, m, new(recorder).Reconcile, controller.Options{}, forDeployments())
	_, err := controller.New(m, "test", new(recorder).Reconcile, controller.For[corev1.Pod]())
	if !errors.Is(err, errTaken) || !strings.Contains(err.Error(), `"test"`) {
		t.Errorf("%v, want the manager's error and the name", err)
	}
}

func TestCustomResourcesNameTheirKind(t *testing.T) {
	shop := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Shop"}
	_, err := controller.New(newManager(), "shops", new(recorder).Reconcile,
		controller.ForKind[unstructured.Unstructured](shop), controller.OwnsKind[corev1.Pod](podGVK), controller.Owns[appsv1.Deployment]())
	if err != nil {
		t.Error(err)
	}
}
