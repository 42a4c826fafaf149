package volumes

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// Binder returns the controller that binds claims to volumes. It neither creates nor deletes volumes: see [Provisioner].
func Binder(control.Options) control.Controller {
	user := control.ServiceAccount("persistent-volume-binder")
	return &control.Keyed{Title: "persistentvolume-binder-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		switch {
		case c.In(calls.Claims):
			add(c.Key)
			for key, v := range control.List[corev1.PersistentVolume](s, calls.Volumes, "") {
				if r := v.Spec.ClaimRef; r != nil && calls.Claims.Key(r.Namespace, r.Name) == c.Key {
					add(key)
				}
			}
		case c.In(calls.Volumes):
			add(c.Key)
			openClaims(s, c.Key, add)
		case c.In(calls.Classes):
			openClaims(s, "", add)
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		if claim := control.Get[corev1.PersistentVolumeClaim](s, key); strings.HasPrefix(key, calls.Claims.Prefix("")) {
			if claim != nil {
				w := worldOf(s)
				w.unplaced = func(c *corev1.PersistentVolumeClaim) []string { return users(s, c, false) }
				w.claim(c, claim)
			}
		} else if v := control.Get[corev1.PersistentVolume](s, key); v != nil {
			var claim *corev1.PersistentVolumeClaim
			if r := v.Spec.ClaimRef; r != nil {
				claim = control.Get[corev1.PersistentVolumeClaim](s, calls.Claims.Key(r.Namespace, r.Name))
			}
			volume(c, v, claim)
		}
		return control.Result{Requests: c.List, Events: c.Events}
	}}
}

// openClaims adds the claims that are not bound, and those bound to a volume.
func openClaims(s *control.State, volume string, add func(string)) {
	for key, c := range control.List[corev1.PersistentVolumeClaim](s, calls.Claims, "") {
		if c.Status.Phase != corev1.ClaimBound || volume != "" && calls.Volumes.Key("", c.Spec.VolumeName) == volume {
			add(key)
		}
	}
}

const (
	claimProtection  = "kubernetes.io/pvc-protection"
	volumeProtection = "kubernetes.io/pv-protection"
)

// ClaimProtection returns the controller that delays the end of a deleted claim while a Pod uses it.
func ClaimProtection(control.Options) control.Controller {
	user := control.ServiceAccount("pvc-protection-controller")
	return &control.Keyed{Title: "persistentvolumeclaim-protection-controller", Map: func(s *control.State, c control.Change, add func(string)) {
		if c.In(calls.Claims) {
			add(c.Key)
		}
		if c.In(control.Pods) {
			ns, _ := control.Pods.Names(c.Key)
			for key, claim := range control.List[corev1.PersistentVolumeClaim](s, calls.Claims, ns) {
				if claim.DeletionTimestamp != nil {
					add(key)
				}
			}
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		if claim := control.Get[corev1.PersistentVolumeClaim](s, key); claim != nil {
			protect(c, claim, claimProtection, func() bool { return len(users(s, claim, true)) > 0 })
		}
		return control.Result{Requests: c.List}
	}}
}

// VolumeProtection returns the controller that delays the end of a deleted volume while it is bound to a claim.
func VolumeProtection(control.Options) control.Controller {
	user := control.ServiceAccount("pv-protection-controller")
	return &control.Keyed{Title: "persistentvolume-protection-controller", Map: func(_ *control.State, c control.Change, add func(string)) {
		if c.In(calls.Volumes) {
			add(c.Key)
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		if v := control.Get[corev1.PersistentVolume](s, key); v != nil {
			protect(c, v, volumeProtection, func() bool { return v.Status.Phase == corev1.VolumeBound })
		}
		return control.Result{Requests: c.List}
	}}
}

// protect adds a finalizer to an object, and removes it when the object is being deleted and not in use.
func protect(c *calls.Calls, o metav1.Object, finalizer string, used func() bool) {
	has := slices.Contains(o.GetFinalizers(), finalizer)
	switch {
	case o.GetDeletionTimestamp() == nil && !has:
		c.UpdateAt(o, map[string]any{"finalizers": append(slices.Clone(o.GetFinalizers()), finalizer)}, nil)
	case o.GetDeletionTimestamp() != nil && has && !used():
		c.UpdateAt(o, map[string]any{"finalizers": slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer })}, nil)
	}
}

// users returns the names of the Pods that use a claim: those that have a Node, or those that have none.
func users(s *control.State, c *corev1.PersistentVolumeClaim, placed bool) (out []string) {
	for _, p := range control.List[corev1.Pod](s, control.Pods, c.Namespace) {
		if placed != (p.Spec.NodeName != "") {
			continue
		}
		for name, ephemeral := range claimsOf(p, true) {
			if name == c.Name && (!ephemeral || metav1.IsControlledBy(c, p)) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// claimsOf returns the names of the claims of a Pod, and whether each is ephemeral: deleted with the Pod. With running
// set, the ephemeral claims of a Pod that has ended are left out, since it no longer needs them.
func claimsOf(p *corev1.Pod, running bool) map[string]bool {
	out := map[string]bool{}
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out[v.PersistentVolumeClaim.ClaimName] = false
		case v.Ephemeral != nil && !(running && ended):
			out[p.Name+"-"+v.Name] = true
		}
	}
	return out
}

// Ephemeral returns the controller that creates the ephemeral claims of Pods.
func Ephemeral(control.Options) control.Controller {
	user := control.ServiceAccount("ephemeral-volume-controller")
	return &control.Keyed{Title: "ephemeral-volume-controller", Map: func(_ *control.State, c control.Change, add func(string)) {
		if c.In(control.Pods) && c.Is != nil {
			add(c.Key)
		}
		if c.In(calls.Claims) && c.Is == nil {
			if ref := c.Was.Controller(); ref != nil && ref.Kind == "Pod" && ref.APIVersion == "v1" {
				ns, _ := calls.Claims.Names(c.Key)
				add(control.Pods.Key(ns, ref.Name))
			}
		}
	}, Reconcile: func(_ time.Time, s *control.State, key string) control.Result {
		c := &calls.Calls{User: user}
		if p := control.Get[corev1.Pod](s, key); p != nil && p.DeletionTimestamp == nil {
			for _, v := range p.Spec.Volumes {
				if v.Ephemeral == nil || s.Meta(calls.Claims.Key(p.Namespace, p.Name+"-"+v.Name)) != nil {
					continue
				}
				t := v.Ephemeral.VolumeClaimTemplate.DeepCopy()
				yes := true
				c.Create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
					Name: p.Name + "-" + v.Name, Namespace: p.Namespace, Labels: t.Labels, Annotations: t.Annotations,
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: &yes, BlockOwnerDeletion: &yes}},
				}, Spec: t.Spec})
			}
		}
		return control.Result{Requests: c.List}
	}}
}
