package volumes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// own is the provisioner of the class that a cluster begins with. The control plane has the same.
const own = "volumes.flyball.io"

var provisionerUser = control.User{Name: own, Groups: []string{"system:masters", "system:authenticated"}, Agent: own}

// Boot returns the requests that create the default class, if the cluster has no class.
func Boot(v core.View) []core.Request {
	for range v.All(calls.Classes.Prefix("")) {
		return nil
	}
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return []core.Request{provisionerUser.Create(calls.Classes, &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{defaultClass: "true"}},
		Provisioner: own, VolumeBindingMode: &mode,
	})}
}

// Provisioner returns the controller that makes the volumes of claims whose class names it, and deletes them when nobody
// claims them any more.
func Provisioner(control.Options) control.Controller {
	return &control.Keyed{Title: "volume-provisioner", Map: func(_ *control.State, c control.Change, add func(string)) {
		if c.In(calls.Claims) || c.In(calls.Volumes) {
			add(c.Key)
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: provisionerUser}
		if calls.Volumes.Has(key) {
			if v := control.Get[corev1.PersistentVolume](s, key); v != nil && v.Annotations[provisionedBy] == own && v.DeletionTimestamp == nil &&
				v.Status.Phase == corev1.VolumeReleased && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
				c.Delete(v, "")
			}
			return control.Result{Requests: c.List}
		}
		claim := control.Get[corev1.PersistentVolumeClaim](s, key)
		if claim == nil || claim.Annotations[provisioner] != own || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
			return control.Result{}
		}
		class := worldOf(s).class(claimClass(claim))
		if name := "pvc-" + string(claim.UID); class != nil && s.Meta(calls.Volumes.Key("", name)) == nil {
			c.Create(provision(name, claim, class))
		}
		return control.Result{Requests: c.List}
	}}
}

// provision returns a volume for a claim.
func provision(name string, c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) *corev1.PersistentVolume {
	kind, reclaim := corev1.HostPathDirectoryOrCreate, corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: own}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]}, AccessModes: c.Spec.AccessModes, VolumeMode: c.Spec.VolumeMode,
			PersistentVolumeReclaimPolicy: reclaim, StorageClassName: class.Name, MountOptions: class.MountOptions,
			ClaimRef:               &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/flyball/" + name, Type: &kind}},
		},
	}
}
