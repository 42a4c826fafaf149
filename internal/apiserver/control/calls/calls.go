// Package calls collects the requests of one step of a controller. It knows the resources of the built-in types.
package calls

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Resources of the controllers that use this package.
var (
	Claims       = control.NewKind("", "v1", "persistentvolumeclaims")
	Volumes      = control.NewKind("", "v1", "persistentvolumes")
	Services     = control.NewKind("", "v1", "services")
	Endpoints    = control.NewKind("", "v1", "endpoints")
	Quotas       = control.NewKind("", "v1", "resourcequotas")
	StatefulSets = control.NewKind("apps", "v1", "statefulsets")
	DaemonSets   = control.NewKind("apps", "v1", "daemonsets")
	Revisions    = control.NewKind("apps", "v1", "controllerrevisions")
	Jobs         = control.NewKind("batch", "v1", "jobs")
	CronJobs     = control.NewKind("batch", "v1", "cronjobs")
	Slices       = control.NewKind("discovery.k8s.io", "v1", "endpointslices")
	Budgets      = control.NewKind("policy", "v1", "poddisruptionbudgets")
	Autoscalers  = control.NewKind("autoscaling", "v2", "horizontalpodautoscalers")
	Roles        = control.NewKind("rbac.authorization.k8s.io", "v1", "clusterroles")
	Classes      = control.NewKind("storage.k8s.io", "v1", "storageclasses")
)

// Calls collects the requests of one user, in order. The zero List is empty. It is for one goroutine.
type Calls struct {
	User control.User
	List []core.Request
	// Events are told when the requests have succeeded.
	Events []control.Event
}

// Tell tells people something about an object.
func (c *Calls) Tell(o metav1.Object, reason, message string) {
	c.Events = append(c.Events, control.Event{User: c.User, Key: kindOf(o).Key(o.GetNamespace(), o.GetName()), Reason: reason, Message: message})
}

// Warn warns people of something about an object.
func (c *Calls) Warn(o metav1.Object, reason, message string) {
	c.Tell(o, reason, message)
	c.Events[len(c.Events)-1].Warning = true
}

// Create asks for a new object.
func (c *Calls) Create(o metav1.Object) { c.add(c.User.Create(kindOf(o), o)) }

// Update replaces an object. It fails if the object has changed since it was read.
func (c *Calls) Update(o metav1.Object) { c.add(c.User.Update(kindOf(o), o)) }

// UpdateStatus replaces the status of an object. It fails if the object has changed since it was read.
func (c *Calls) UpdateStatus(o metav1.Object) { c.add(c.User.UpdateStatus(kindOf(o), o)) }

// Patch changes fields of an object by a strategic merge patch, even if the object has changed since it was read.
func (c *Calls) Patch(o metav1.Object, patch any) {
	c.add(c.User.Do("PATCH", Path(o), "application/strategic-merge-patch+json", patch))
}

// PatchAt changes fields of an object by a merge patch. It fails if the object has changed since it was read.
// Metadata and the rest of the patch may be nil.
func (c *Calls) PatchAt(o metav1.Object, metadata, rest map[string]any) {
	meta := map[string]any{"resourceVersion": o.GetResourceVersion(), "uid": o.GetUID()}
	maps.Copy(meta, metadata)
	patch := map[string]any{"metadata": meta}
	maps.Copy(patch, rest)
	c.add(c.User.Do("PATCH", Path(o), "application/merge-patch+json", patch))
}

// UpdateAt is [Calls.PatchAt] for controllers whose roles allow no patches: it replaces the object.
func (c *Calls) UpdateAt(o metav1.Object, metadata, rest map[string]any) {
	patch := map[string]any{}
	if metadata != nil {
		patch["metadata"] = metadata
	}
	maps.Copy(patch, rest)
	c.add(c.User.Do("PUT", Path(o), "application/json", merged(o, patch)))
}

// UpdateStatusAt is [Calls.UpdateAt] for fields of an object's status. An object that was updated before has another
// version then: its status is left to the next reconcile.
func (c *Calls) UpdateStatusAt(o metav1.Object, status map[string]any) {
	if slices.ContainsFunc(c.List, func(r core.Request) bool { return r.URL == Path(o) }) {
		return
	}
	c.add(c.User.Do("PUT", Path(o)+"/status", "application/json", merged(o, map[string]any{"status": status})))
}

// merged returns an object after a merge patch.
func merged(o metav1.Object, patch map[string]any) map[string]any {
	out := fieldsOf(o)
	merge(out, fieldsOf(patch))
	return out
}

// fieldsOf returns a value as its JSON is.
func fieldsOf(v any) (out map[string]any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("calls: %T: %v", v, err)) // objects of the API have a text
	}
	return out
}

func merge(into, changes map[string]any) {
	for key, value := range changes {
		switch value := value.(type) {
		case nil:
			delete(into, key)
		case map[string]any:
			below, ok := into[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				into[key] = below
			}
			merge(below, value)
		default:
			into[key] = value
		}
	}
}

// Delete deletes an object, but no other one with its name: the uid is a precondition. The policy "" is the default one.
func (c *Calls) Delete(o metav1.Object, policy metav1.DeletionPropagation) {
	uid := o.GetUID()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if policy != "" {
		options.PropagationPolicy = &policy
	}
	c.add(c.User.Delete(Path(o), options))
}

// Claim returns those of some objects of one kind that an owner controls, see [control.Claim].
func Claim[T metav1.Object](c *Calls, o control.Owner, objects []T) []T {
	if len(objects) == 0 {
		return nil
	}
	have, requests := control.Claim(c.User, kindOf(objects[0]), o, objects)
	c.List = append(c.List, requests...)
	return have
}

func (c *Calls) add(r core.Request) { c.List = append(c.List, r) }

// Path returns the path of an object.
func Path(o metav1.Object) string { return kindOf(o).Path(o.GetNamespace(), o.GetName(), "") }

// kindOf returns the resource of a type.
func kindOf(o metav1.Object) control.Kind {
	switch o.(type) {
	case *corev1.Pod:
		return control.Pods
	//lint:ignore SA1019 clusters still have them
	case *corev1.Endpoints:
		return Endpoints
	case *corev1.PersistentVolumeClaim:
		return Claims
	case *corev1.PersistentVolume:
		return Volumes
	case *corev1.ResourceQuota:
		return Quotas
	case *appsv1.StatefulSet:
		return StatefulSets
	case *appsv1.DaemonSet:
		return DaemonSets
	case *appsv1.ControllerRevision:
		return Revisions
	case *batchv1.Job:
		return Jobs
	case *batchv1.CronJob:
		return CronJobs
	case *discoveryv1.EndpointSlice:
		return Slices
	case *policyv1.PodDisruptionBudget:
		return Budgets
	case *autoscalingv2.HorizontalPodAutoscaler:
		return Autoscalers
	case *rbacv1.ClusterRole:
		return Roles
	case *storagev1.StorageClass:
		return Classes
	}
	panic(fmt.Sprintf("calls: the resource of %T is not known", o))
}
