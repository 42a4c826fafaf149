package workload

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// StatefulSets returns the controller of StatefulSets.
func StatefulSets(control.Options) control.Controller {
	w := watcher[appsv1.StatefulSet]{
		kind: calls.StatefulSets, owner: statefulSetKind, owned: []control.Kind{control.Pods, calls.Revisions},
		selector: func(o *appsv1.StatefulSet) *metav1.LabelSelector { return o.Spec.Selector },
		more: func(s *control.State, c control.Change, add func(string)) {
			if c.In(calls.Claims) {
				ns, _ := calls.Claims.Names(c.Key)
				for key, set := range control.List[appsv1.StatefulSet](s, calls.StatefulSets, ns) {
					if len(set.Spec.VolumeClaimTemplates) > 0 {
						add(key)
					}
				}
			}
		},
	}
	return keyed("statefulset-controller", "statefulset-controller", w.changes, func(now time.Time, s *control.State, key string, c *calls.Calls) (time.Time, error) {
		set := control.Get[appsv1.StatefulSet](s, key)
		if set == nil {
			return time.Time{}, nil
		}
		in := StatefulSet{
			Set: set, Stored: s.Get(key).JSON, Pods: control.Children[corev1.Pod](s, control.Pods, set, nil), Revisions: all[appsv1.ControllerRevision](s, calls.Revisions, set.Namespace),
			Claim: func(name string) *corev1.PersistentVolumeClaim {
				return control.Get[corev1.PersistentVolumeClaim](s, calls.Claims.Key(set.Namespace, name))
			},
		}
		return in.Sync(now, c)
	})
}

// DaemonSets returns the controller of DaemonSets.
func DaemonSets(control.Options) control.Controller {
	w := watcher[appsv1.DaemonSet]{
		kind: calls.DaemonSets, owner: daemonSetKind, owned: []control.Kind{control.Pods, calls.Revisions},
		selector: func(o *appsv1.DaemonSet) *metav1.LabelSelector { return o.Spec.Selector },
		more: func(s *control.State, c control.Change, add func(string)) {
			if c.In(control.Nodes) {
				for o := range s.All(calls.DaemonSets.Prefix("")) {
					add(o.Key)
				}
			}
		},
	}
	return keyed("daemonset-controller", "daemon-set-controller", w.changes, func(now time.Time, s *control.State, key string, c *calls.Calls) (time.Time, error) {
		set := control.Get[appsv1.DaemonSet](s, key)
		if set == nil {
			return time.Time{}, nil
		}
		in := DaemonSet{
			Set: set, Stored: s.Get(key).JSON, Pods: control.Children[corev1.Pod](s, control.Pods, set, nil), Revisions: all[appsv1.ControllerRevision](s, calls.Revisions, set.Namespace),
			Nodes: all[corev1.Node](s, control.Nodes, ""),
			Hash: func(collisions *int32) (string, error) {
				text, err := json.Marshal(set.Spec.Template)
				if err != nil {
					return "", err
				}
				return s.TemplateHash(text, collisions)
			},
		}
		return in.Sync(now, c)
	})
}

// Jobs returns the controller of Jobs.
func Jobs(control.Options) control.Controller {
	w := watcher[batchv1.Job]{
		kind: calls.Jobs, owner: jobKind, owned: []control.Kind{control.Pods},
		selector: func(o *batchv1.Job) *metav1.LabelSelector { return o.Spec.Selector },
		more: func(s *control.State, c control.Change, add func(string)) {
			switch {
			case c.In(control.Pods) && c.Is != nil && slices.Contains(c.Is.Finalizers, batchv1.JobTrackingFinalizer):
				add(c.Key) // the job of the Pod may be gone
			case c.In(calls.Jobs) && c.Is == nil:
				for _, key := range s.Owned(c.Was.UID) {
					add(key)
				}
			}
		},
	}
	memory := map[types.UID]*Backoff{}
	return keyed("job-controller", "job-controller", w.changes, func(now time.Time, s *control.State, key string, c *calls.Calls) (time.Time, error) {
		if !strings.HasPrefix(key, calls.Jobs.Prefix("")) {
			if p := control.Get[corev1.Pod](s, key); p != nil && isOrphan(s, p) {
				release(c, p)
			}
			return time.Time{}, nil
		}
		job := control.Get[batchv1.Job](s, key)
		if job == nil {
			return time.Time{}, nil
		}
		if isFinished(job) {
			delete(memory, job.UID)
		} else if memory[job.UID] == nil {
			memory[job.UID] = &Backoff{}
		}
		return Job{Job: job, Pods: control.Children[corev1.Pod](s, control.Pods, job, nil), Backoff: memory[job.UID]}.Sync(now, c)
	})
}

// isOrphan reports whether a Pod belongs to no Job, and no Job would adopt it.
func isOrphan(s *control.State, p *corev1.Pod) bool {
	if ref := metav1.GetControllerOfNoCopy(p); ref != nil {
		return ref.Kind == jobKind.Kind && ref.APIVersion == jobKind.GroupVersion().String() && s.Find(ref.UID) == ""
	}
	for _, j := range control.List[batchv1.Job](s, calls.Jobs, p.Namespace) {
		if selector, err := metav1.LabelSelectorAsSelector(j.Spec.Selector); err == nil && selector.Matches(labels.Set(p.Labels)) {
			return false
		}
	}
	return true
}

// CronJobs returns the controller of CronJobs.
func CronJobs(control.Options) control.Controller {
	w := watcher[batchv1.CronJob]{kind: calls.CronJobs, owner: cronJobKind, owned: []control.Kind{calls.Jobs}}
	return keyed("cronjob-controller", "cronjob-controller", w.changes, func(now time.Time, s *control.State, key string, c *calls.Calls) (time.Time, error) {
		j := control.Get[batchv1.CronJob](s, key)
		if j == nil {
			return time.Time{}, nil
		}
		return CronJob{CronJob: j, Jobs: control.Children[batchv1.Job](s, calls.Jobs, j, nil)}.Sync(now, c)
	})
}

// FinishedJobs returns the controller that deletes jobs some time after they have ended.
func FinishedJobs(control.Options) control.Controller {
	w := watcher[batchv1.Job]{kind: calls.Jobs}
	return keyed("ttl-after-finished-controller", "ttl-after-finished-controller", w.changes, func(now time.Time, s *control.State, key string, c *calls.Calls) (time.Time, error) {
		j := control.Get[batchv1.Job](s, key)
		if j == nil || j.DeletionTimestamp != nil || j.Spec.TTLSecondsAfterFinished == nil {
			return time.Time{}, nil
		}
		for _, x := range j.Status.Conditions {
			if (x.Type == batchv1.JobComplete || x.Type == batchv1.JobFailed) && x.Status == corev1.ConditionTrue {
				at := x.LastTransitionTime.Add(time.Duration(*j.Spec.TTLSecondsAfterFinished) * time.Second)
				if at.After(now) {
					return at, nil
				}
				c.Delete(j, metav1.DeletePropagationForeground)
			}
		}
		return time.Time{}, nil
	})
}

// retryAfter is the delay after an error of a decision.
const retryAfter = time.Second

// keyed returns a controller that reconciles one object after the other by sync. changes adds the keys to reconcile
// after a change. sync adds requests, and returns when to reconcile the key again.
func keyed(title, account string, changes func(*control.State, control.Change, func(string)), sync func(time.Time, *control.State, string, *calls.Calls) (time.Time, error)) control.Controller {
	user := control.ServiceAccount(account)
	return &control.Keyed{Title: title, Map: changes, Reconcile: func(now time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		at, err := sync(now, s, key, c)
		if errors.Is(err, control.ErrSelector) {
			return control.Result{Err: err}
		}
		if err != nil { // the rules program has not answered
			return control.Result{At: now.Add(retryAfter)}
		}
		return control.Result{Requests: c.List, Events: c.Events, At: at}
	}}
}

// watcher finds the objects of a kind to reconcile after a change.
type watcher[T any] struct {
	kind control.Kind
	// owner is the kind of the objects in references. owned has the kinds whose objects have such references.
	owner schema.GroupVersionKind
	owned []control.Kind
	// selector returns the selector by which an object adopts Pods; the field is nil if it adopts none.
	selector func(*T) *metav1.LabelSelector
	more     func(s *control.State, c control.Change, add func(string))
}

func (w watcher[T]) changes(s *control.State, c control.Change, add func(string)) {
	if c.In(w.kind) {
		add(c.Key)
	}
	if i := slices.IndexFunc(w.owned, c.In); i >= 0 {
		ns, _ := w.owned[i].Names(c.Key)
		for m := range c.Metas() {
			if ref := m.Controller(); ref != nil {
				if ref.Kind == w.owner.Kind && ref.APIVersion == w.owner.GroupVersion().String() {
					add(w.kind.Key(ns, ref.Name))
				}
			} else if w.selector != nil {
				w.adopters(s, ns, m.Labels, add)
			}
		}
	}
	if w.more != nil {
		w.more(s, c, add)
	}
}

// adopters adds the objects that would adopt a Pod with these labels.
func (w watcher[T]) adopters(s *control.State, ns string, l map[string]string, add func(string)) {
	for key, o := range control.List[T](s, w.kind, ns) {
		if selector, err := metav1.LabelSelectorAsSelector(w.selector(o)); err == nil && selector.Matches(labels.Set(l)) {
			add(key)
		}
	}
}

// all returns the objects of a kind in a namespace.
func all[T any](s *control.State, k control.Kind, ns string) []*T {
	var out []*T
	for _, o := range control.List[T](s, k, ns) {
		out = append(out, o)
	}
	return out
}
