package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

var deploymentUser = control.ServiceAccount("deployment-controller")

// Deployments returns the controller that rolls out the templates of Deployments by ReplicaSets.
func Deployments(control.Options) control.Controller {
	return &control.Keyed{
		Title: "deployment-controller",
		Map: func(s *control.State, c control.Change, add func(string)) {
			switch {
			case c.In(control.Deployments):
				add(c.Key)
			case c.In(control.ReplicaSets):
				control.Owners(s, c, control.Deployments, "Deployment", deploymentSelector, add)
			case c.In(control.Pods):
				addOfEnded(s, c, add)
			}
		},
		Reconcile: reconcileDeployment,
	}
}

func deploymentSelector(s *control.State, key string) labels.Selector {
	return control.Selector(control.Get[appsv1.Deployment](s, key).Spec.Selector)
}

// addOfEnded adds the Deployment of a Pod that is gone or has ended: a Deployment with the strategy Recreate waits for
// that.
func addOfEnded(s *control.State, c control.Change, add func(string)) {
	if c.Is != nil && !pod.Ended(control.Get[corev1.Pod](s, c.Key)) {
		return
	}
	for m := range c.Metas() {
		ref := m.Controller()
		if ref == nil || ref.Kind != "ReplicaSet" {
			continue
		}
		if set := s.Meta(control.ReplicaSets.Key(m.Namespace, ref.Name)); set != nil {
			if owner := set.Controller(); owner != nil && owner.Kind == "Deployment" {
				add(control.Deployments.Key(m.Namespace, owner.Name))
			}
		}
	}
}

// rollout is one reconcile of a Deployment. Its objects are copies; at the end the changed ones are written.
type rollout struct {
	now      time.Time
	state    *control.State
	was, d   *appsv1.Deployment
	sets     []*appsv1.ReplicaSet // all of the Deployment, the oldest first
	new      *appsv1.ReplicaSet   // has the present template; nil if there is none
	old      []*appsv1.ReplicaSet
	changed  map[*appsv1.ReplicaSet]bool
	requests []core.Request
	events   []control.Event
	again    time.Time
}

func reconcileDeployment(now time.Time, s *control.State, key string) (r control.Result) {
	was := control.Get[appsv1.Deployment](s, key)
	if was == nil {
		return r
	}
	selector, err := control.Selecting(was.Spec.Selector, was.Spec.Template.Labels)
	if err != nil {
		return control.Result{Err: err}
	}
	owner := control.Owner{Object: was, Kind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Selector: selector}
	sets, requests := control.Claim(deploymentUser, control.ReplicaSets, owner, control.Children[appsv1.ReplicaSet](s, control.ReplicaSets, was, owner.Selector))
	if len(requests) > 0 {
		return control.Result{Requests: requests} // the changes add the key again
	}
	w := &rollout{now: now, state: s, was: was, d: was.DeepCopy(), changed: map[*appsv1.ReplicaSet]bool{}}
	for _, rs := range sets {
		w.sets = append(w.sets, rs.DeepCopy())
	}
	slices.SortStableFunc(w.sets, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	w.find()
	if w.d.DeletionTimestamp == nil {
		w.pause()
	}
	switch {
	case w.d.DeletionTimestamp != nil:
		w.syncRevision(false)
		w.count()
	case w.d.Spec.Paused, w.resized():
		w.syncRevision(false)
		w.scaleAll()
		if w.d.Spec.Paused {
			w.cleanUp()
		}
		w.count()
	case w.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		w.recreate()
	default:
		w.roll()
	}
	for _, rs := range w.sets {
		if w.changed[rs] {
			w.requests = append(w.requests, deploymentUser.Update(control.ReplicaSets, rs))
		}
	}
	if !equality.Semantic.DeepEqual(was.Status, w.d.Status) || !equality.Semantic.DeepEqual(was.Annotations, w.d.Annotations) {
		w.requests = append(w.requests, deploymentUser.UpdateStatus(control.Deployments, w.d))
	}
	return control.Result{Requests: w.requests, Events: w.events, At: w.again}
}

// roll replaces Pods bit by bit.
func (w *rollout) roll() {
	if !w.syncRevision(true) {
		return
	}
	if !w.scaleNew() && !w.scaleOld() && complete(w.d, &w.d.Status) {
		w.cleanUp()
	}
	w.progress()
}

// recreate makes new Pods when the old ones are gone.
func (w *rollout) recreate() {
	w.syncRevision(false)
	scaled := false
	for _, rs := range w.old {
		if *rs.Spec.Replicas > 0 {
			scaled = w.scaleTo(rs, 0) || scaled
		}
	}
	if !scaled && !w.oldPods() {
		if !w.syncRevision(true) {
			return
		}
		w.scaleTo(w.new, *w.d.Spec.Replicas)
		if complete(w.d, &w.d.Status) {
			w.cleanUp()
		}
	}
	w.progress()
}

// oldPods reports whether Pods of old ReplicaSets have not ended.
func (w *rollout) oldPods() bool {
	for _, rs := range w.old {
		for _, key := range w.state.Owned(rs.UID) {
			if control.Pods.Has(key) && !pod.Ended(control.Get[corev1.Pod](w.state, key)) {
				return true
			}
		}
	}
	return false
}

// cleanUp deletes the oldest ReplicaSets beyond the limit of the history.
func (w *rollout) cleanUp() {
	limit := w.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == 1<<31-1 {
		return
	}
	sets := slices.DeleteFunc(slices.Clone(w.old), func(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp != nil })
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revision(a), revision(b)) })
	for _, rs := range sets[:max(0, len(sets)-int(*limit))] {
		if rs.Status.Replicas != 0 || *rs.Spec.Replicas != 0 || rs.Generation > rs.Status.ObservedGeneration {
			continue
		}
		w.requests = append(w.requests, deploymentUser.Delete(control.ReplicaSets.Path(rs.Namespace, rs.Name, ""), metav1.DeleteOptions{}))
	}
}
