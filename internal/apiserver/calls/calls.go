// Package calls writes the requests that controllers make. It knows the paths of the built-in kinds.
package calls

import (
	"encoding/json"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// Calls collects the requests of one controller, in their order.
type Calls struct {
	// Controller names the service account that the requests are made as.
	Controller string
	// List has the requests so far.
	List []core.Request
}

// Create asks for a new object.
func (c *Calls) Create(o metav1.Object) {
	c.add(http.MethodPost, collection(o), contentJSON, text(o))
}

// Update replaces an object. It fails if the object has changed since it was read.
func (c *Calls) Update(o metav1.Object) { c.add(http.MethodPut, Path(o), contentJSON, text(o)) }

// UpdateStatus replaces the status of an object. It fails if the object has changed since it was read.
func (c *Calls) UpdateStatus(o metav1.Object) {
	c.add(http.MethodPut, Path(o)+"/status", contentJSON, text(o))
}

// Patch changes fields of an object by a strategic merge patch, whatever its version is.
func (c *Calls) Patch(o metav1.Object, patch any) {
	c.add(http.MethodPatch, Path(o), "application/strategic-merge-patch+json", text(patch))
}

// PatchAt changes fields of an object by a merge patch. It fails if the object has changed since it was read.
// The caller gives the metadata that changes, or nil, and the rest of the patch, or nil.
func (c *Calls) PatchAt(o metav1.Object, metadata, rest map[string]any) {
	patch := map[string]any{}
	for k, v := range rest {
		patch[k] = v
	}
	meta := map[string]any{"resourceVersion": o.GetResourceVersion(), "uid": o.GetUID()}
	for k, v := range metadata {
		meta[k] = v
	}
	patch["metadata"] = meta
	c.add(http.MethodPatch, Path(o), "application/merge-patch+json", text(patch))
}

// Delete deletes an object, and nothing else of its name.
func (c *Calls) Delete(o metav1.Object, policy metav1.DeletionPropagation) {
	uid := o.GetUID()
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
	if policy != "" {
		options.PropagationPolicy = &policy
	}
	options.Kind, options.APIVersion = "DeleteOptions", "v1"
	c.add(http.MethodDelete, Path(o), contentJSON, text(options))
}

// Do makes any request with a JSON body.
func (c *Calls) Do(method, url string, body any) { c.add(method, url, contentJSON, text(body)) }

const contentJSON = "application/json"

func (c *Calls) add(method, url, contentType string, body []byte) {
	c.List = append(c.List, core.Request{
		Method: method, URL: url, ContentType: contentType, Accept: contentJSON, UserAgent: "kube-controller-manager", Body: body,
		User:   "system:serviceaccount:kube-system:" + c.Controller,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:masters", "system:authenticated"},
	})
}

// text is a value as JSON. Objects of the API always have one.
func text(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("calls: %T has no JSON: %v", v, err))
	}
	return out
}

// Path returns the path of an object.
func Path(o metav1.Object) string { return collection(o) + "/" + o.GetName() }

func collection(o metav1.Object) string {
	root, resource := place(o)
	if ns := o.GetNamespace(); ns != "" {
		root += "/namespaces/" + ns
	}
	return root + "/" + resource
}

// place returns the path of a kind's group, and its resource.
func place(o metav1.Object) (root, resource string) {
	switch o.(type) {
	case *corev1.Pod:
		return "/api/v1", "pods"
	case *corev1.Endpoints: //nolint:staticcheck // the controllers still write them
		return "/api/v1", "endpoints"
	case *corev1.PersistentVolumeClaim:
		return "/api/v1", "persistentvolumeclaims"
	case *corev1.PersistentVolume:
		return "/api/v1", "persistentvolumes"
	case *corev1.ReplicationController:
		return "/api/v1", "replicationcontrollers"
	case *corev1.ResourceQuota:
		return "/api/v1", "resourcequotas"
	case *appsv1.StatefulSet:
		return "/apis/apps/v1", "statefulsets"
	case *appsv1.DaemonSet:
		return "/apis/apps/v1", "daemonsets"
	case *appsv1.ControllerRevision:
		return "/apis/apps/v1", "controllerrevisions"
	case *batchv1.Job:
		return "/apis/batch/v1", "jobs"
	case *batchv1.CronJob:
		return "/apis/batch/v1", "cronjobs"
	case *discoveryv1.EndpointSlice:
		return "/apis/discovery.k8s.io/v1", "endpointslices"
	case *policyv1.PodDisruptionBudget:
		return "/apis/policy/v1", "poddisruptionbudgets"
	case *autoscalingv2.HorizontalPodAutoscaler:
		return "/apis/autoscaling/v2", "horizontalpodautoscalers"
	case *rbacv1.ClusterRole:
		return "/apis/rbac.authorization.k8s.io/v1", "clusterroles"
	}
	panic(fmt.Sprintf("calls: the path of %T is not known", o))
}
