// Package scaler keeps each Deployment that asks for it at one replica for every so many Pods that
// match a label selector. Annotations of the Deployment say which Pods, and how many.
package scaler

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/handler"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/predicate"
	"github.com/flyball-io/flyball/reconcile"
)

// The annotations of a Deployment. The first one opts in.
const (
	Selector       = "podscaler.flyball.dev/selector"         // which Pods of the namespace count
	PodsPerReplica = "podscaler.flyball.dev/pods-per-replica" // default 10
	MinReplicas    = "podscaler.flyball.dev/min-replicas"     // default 0
	MaxReplicas    = "podscaler.flyball.dev/max-replicas"     // default none

	optedIn = "podscaler/opted-in" // an index of Deployments
)

// marked has what the index reads of a Deployment. The rest is not decoded, and cannot fail.
type marked struct {
	Annotations map[string]string `field:"metadata.annotations"`
}

type scaler struct {
	*flyball.Manager
	interval time.Duration
}

// Add puts the controller into a manager. A Deployment is looked at whenever an object changes
// that it depends on, and again after interval, unless that is zero.
func Add(mgr *flyball.Manager, interval time.Duration, o controller.Options) error {
	mark := func(d *marked) []string { return []string{strconv.FormatBool(opts(d.Annotations))} }
	if err := mgr.Cache().AddIndex(appsv1.SchemeGroupVersion.WithKind("Deployment"), optedIn, informer.IndexView(mark)); err != nil {
		return err
	}
	s := &scaler{mgr, interval}
	counting := func(pods labels.Selector, pod *object.Header) bool { return pods.Matches(labels.Set(pod.Labels)) }
	all := func(labels.Selector, *object.Header) bool { return true }
	annotated := predicate.AnnotationsChanged(Selector, PodsPerReplica, MinReplicas, MaxReplicas)
	_, err := controller.NewWith(mgr, "podscaler", s.Reconcile, o,
		controller.For[appsv1.Deployment](predicate.Or(annotated, predicate.GenerationChanged())),
		controller.Watches[corev1.Pod](s.scaled(counting)),
		// Every count in the namespace depends on the owners of the Pods.
		controller.Watches[appsv1.Deployment](s.scaled(all), annotated),
		controller.Watches[appsv1.ReplicaSet](s.scaled(all), predicate.OwnersChanged()),
	)
	return err
}

// scaled requests the scaled Deployments, in the namespace of what changed, that match it.
func (s *scaler) scaled(match func(labels.Selector, *object.Header) bool) handler.Handler[reconcile.Request] {
	return handler.MapHeader(func(ctx context.Context, h *object.Header) (out []reconcile.Request, err error) {
		for d, err := range cache.Headers[appsv1.Deployment](ctx, s.Cache(), client.InNamespace(h.Namespace), client.MatchingFields{optedIn: "true"}) {
			if err != nil {
				return nil, err // asked again
			}
			if pods, _, err := parse(d.Annotations); err == nil && match(pods, h) {
				out = append(out, d.Key)
			}
		}
		return out, nil
	})
}

// Reconcile brings one Deployment to the number of replicas that the Pods call for.
func (s *scaler) Reconcile(ctx context.Context, key reconcile.Request) (reconcile.Result, error) {
	d, err := client.Get[appsv1.Deployment](ctx, s.Client(), key)
	if err != nil || d.DeletionTimestamp != nil || !opts(d.Annotations) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	selector, replicas, err := parse(d.Annotations)
	if err != nil { // only a change of the Deployment can mend it
		s.Events().Event(d, event.Warning, "BadAnnotation", "Scale", "%v", err)
		return reconcile.Result{}, nil
	}
	again := reconcile.Result{RequeueAfter: s.interval}
	pods, err := s.count(ctx, d.Namespace, selector)
	want := replicas(pods)
	if err != nil || d.Spec.Replicas != nil && *d.Spec.Replicas == want {
		return again, err
	}
	scale, err := client.GetSub[autoscalingv1.Scale](ctx, s.Client(), d, "scale") // the cache may not show our last write yet
	if err != nil || scale.Spec.Replicas == want {
		return again, client.IgnoreNotFound(err)
	}
	reconcile.Logger(ctx).Info("scaling", "pods", pods, "from", scale.Spec.Replicas, "to", want)
	return again, client.IgnoreNotFound(client.SetScale(ctx, s.Client(), d, want))
}

// podView has what count reads of a Pod. The rest is not decoded.
type podView struct {
	Deleted *metav1.Time            `field:"metadata.deletionTimestamp"`
	Owners  []metav1.OwnerReference `field:"metadata.ownerReferences"`
	Phase   corev1.PodPhase         `field:"status.phase"`
}

// count is how many of the selected Pods live, without those of scaled Deployments: they would
// call for ever more of themselves. The cache may show a Pod before its ReplicaSet, or that before
// its Deployment. Such a Pod does not count yet; the event that brings the rest brings us back.
func (s *scaler) count(ctx context.Context, namespace string, selector labels.Selector) (n int, err error) {
	counts := map[types.UID]bool{} // by Deployment, by ReplicaSet
	for d, err := range cache.Headers[appsv1.Deployment](ctx, s.Cache(), client.InNamespace(namespace)) {
		if err != nil {
			return 0, err
		}
		counts[d.UID] = !opts(d.Annotations)
	}
	for set, err := range cache.Headers[appsv1.ReplicaSet](ctx, s.Cache(), client.InNamespace(namespace)) {
		if err != nil {
			return 0, err
		}
		by, owned := set.ControllerOwner()
		counts[set.UID] = !owned || by.Kind != "Deployment" || counts[by.UID]
	}
	for pod, err := range client.ProjectList[corev1.Pod, podView](ctx, s.Client(), client.InNamespace(namespace), client.Selection{Labels: selector}) {
		if err != nil {
			return 0, err
		}
		by := metav1.GetControllerOf(&metav1.ObjectMeta{OwnerReferences: pod.Owners})
		ended := pod.Deleted != nil || pod.Phase == corev1.PodSucceeded || pod.Phase == corev1.PodFailed
		if !ended && (by == nil || by.Kind != "ReplicaSet" || counts[by.UID]) {
			n++
		}
	}
	return n, nil
}

func opts(annotations map[string]string) bool { _, ok := annotations[Selector]; return ok }

// parse reads the annotations: which Pods count, and how many replicas so many of them call for.
// An error names the first annotation that is wrong, and its value.
func parse(annotations map[string]string) (counting labels.Selector, replicas func(pods int) int32, err error) {
	if counting, err = labels.Parse(annotations[Selector]); err != nil {
		return nil, nil, fmt.Errorf("annotation %s=%q: %w", Selector, annotations[Selector], err)
	}
	number := func(name string, unset, least uint64) uint64 {
		text, set := annotations[name]
		if !set || err != nil {
			return unset
		}
		n, bad := strconv.ParseUint(text, 10, 31)
		if bad != nil || n < least {
			err = fmt.Errorf("annotation %s=%q: want a whole number from %d to %d", name, text, least, math.MaxInt32)
		}
		return n
	}
	each, least := number(PodsPerReplica, 10, 1), number(MinReplicas, 0, 0)
	most := number(MaxReplicas, math.MaxInt32, least)
	return counting, func(n int) int32 { return int32(min(max((uint64(n)+each-1)/each, least), most)) }, err
}
