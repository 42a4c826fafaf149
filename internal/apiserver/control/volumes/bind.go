// Package volumes has the controllers that bind claims to volumes, and protect both while they are in use.
package volumes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// Annotations about the binding of volumes and claims.
const (
	boundByController = "pv.kubernetes.io/bound-by-controller"
	bindCompleted     = "pv.kubernetes.io/bind-completed"
	provisioner       = "volume.kubernetes.io/storage-provisioner"
	provisionerBeta   = "volume.beta.kubernetes.io/storage-provisioner"
	defaultClass      = "storageclass.kubernetes.io/is-default-class"
	selectedNode      = "volume.kubernetes.io/selected-node"
	provisionedBy     = "pv.kubernetes.io/provisioned-by"
)

// world has the objects that the binder reads.
type world struct {
	volumes []*corev1.PersistentVolume
	classes []*storagev1.StorageClass
	// unplaced returns the names of the Pods that use a claim and have no Node.
	unplaced func(*corev1.PersistentVolumeClaim) []string
}

func worldOf(s *control.State) *world {
	w := &world{}
	for _, v := range control.List[corev1.PersistentVolume](s, calls.Volumes, "") {
		w.volumes = append(w.volumes, v)
	}
	for _, x := range control.List[storagev1.StorageClass](s, calls.Classes, "") {
		w.classes = append(w.classes, x)
	}
	return w
}

// isFor reports whether a volume is reserved for a claim.
func isFor(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) bool {
	r := v.Spec.ClaimRef
	return r != nil && r.Name == c.Name && r.Namespace == c.Namespace && (r.UID == "" || r.UID == c.UID)
}

func classOf(annotations map[string]string, name string) string {
	if beta, ok := annotations[corev1.BetaStorageClassAnnotation]; ok {
		return beta
	}
	return name
}

func claimClass(c *corev1.PersistentVolumeClaim) string {
	name := ""
	if c.Spec.StorageClassName != nil {
		name = *c.Spec.StorageClassName
	}
	return classOf(c.Annotations, name)
}

func mode(m *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if m == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *m
}

// fits reports whether a volume has the size, modes and attributes class that a claim asks for. It ignores the storage
// class, the selector, and whether the volume is bound.
func fits(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) bool {
	have, want := v.Spec.Capacity[corev1.ResourceStorage], c.Spec.Resources.Requests[corev1.ResourceStorage]
	return v.DeletionTimestamp == nil && have.Cmp(want) >= 0 && mode(v.Spec.VolumeMode) == mode(c.Spec.VolumeMode) &&
		text(v.Spec.VolumeAttributesClassName) == text(c.Spec.VolumeAttributesClassName) &&
		!slices.ContainsFunc(c.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(v.Spec.AccessModes, m) })
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// best returns the volume for a claim: one that is reserved for it, or else the smallest; nil if there is none. free
// reports whether a volume may be taken that is not reserved; allowed, whether any may be.
func (w *world) best(c *corev1.PersistentVolumeClaim, free bool, allowed func(*corev1.PersistentVolume) bool) *corev1.PersistentVolume {
	var found []*corev1.PersistentVolume
	for _, v := range w.volumes {
		switch {
		case !fits(v, c) || !allowed(v):
		case isFor(v, c):
			return v
		case !free || v.Spec.ClaimRef != nil || v.Status.Phase != corev1.VolumeAvailable || classOf(v.Annotations, v.Spec.StorageClassName) != claimClass(c):
		case c.Spec.Selector != nil && !matches(c.Spec.Selector, v.Labels):
		default:
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return slices.MinFunc(found, func(a, b *corev1.PersistentVolume) int {
		x, y := a.Spec.Capacity[corev1.ResourceStorage], b.Spec.Capacity[corev1.ResourceStorage]
		return cmp.Or(cmp.Compare(len(a.Spec.AccessModes), len(b.Spec.AccessModes)), x.Cmp(y), cmp.Compare(a.Name, b.Name))
	})
}

func matches(s *metav1.LabelSelector, l map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(l))
}

// delays reports whether the scheduler chooses the volume of a claim, or the Node that it is made for.
func (w *world) delays(c *corev1.PersistentVolumeClaim) bool {
	class := w.class(claimClass(c))
	return class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// class returns a class by its name; nil if there is none.
func (w *world) class(name string) *storagev1.StorageClass {
	i := slices.IndexFunc(w.classes, func(x *storagev1.StorageClass) bool { return x.Name == name })
	if name == "" || i < 0 {
		return nil
	}
	return w.classes[i]
}

// standard returns the default class: the newest if there are several, nil if there is none.
func (w *world) standard() *storagev1.StorageClass {
	var found *storagev1.StorageClass
	for _, x := range w.classes {
		if x.Annotations[defaultClass] == "true" && (found == nil || x.CreationTimestamp.After(found.CreationTimestamp.Time)) {
			found = x
		}
	}
	return found
}

// claim binds a claim, or sets its phase.
func (w *world) claim(calls *calls.Calls, c *corev1.PersistentVolumeClaim) {
	i := slices.IndexFunc(w.volumes, func(v *corev1.PersistentVolume) bool { return v.Name == c.Spec.VolumeName })
	var named *corev1.PersistentVolume
	if i >= 0 {
		named = w.volumes[i]
	}
	if _, done := c.Annotations[bindCompleted]; done {
		if named != nil && (named.Spec.ClaimRef == nil || named.Spec.ClaimRef.UID == c.UID) {
			bind(calls, named, c)
		} else {
			if c.Status.Phase != corev1.ClaimLost {
				reason, message := lost(c, named)
				calls.Warn(c, reason, message)
			}
			setClaim(calls, c, corev1.ClaimLost, nil)
		}
		return
	}
	if c.Spec.VolumeName != "" {
		if named != nil && (named.Spec.ClaimRef == nil && fits(named, c) && classOf(named.Annotations, named.Spec.StorageClassName) == claimClass(c) || isFor(named, c)) {
			bind(calls, named, c)
		} else {
			setClaim(calls, c, corev1.ClaimPending, nil)
		}
		return
	}
	delay := w.delays(c)
	if v := w.best(c, !delay, func(*corev1.PersistentVolume) bool { return true }); v != nil {
		bind(calls, v, c)
		return
	}
	wait := delay && c.Annotations[selectedNode] == ""
	if _, beta := c.Annotations[corev1.BetaStorageClassAnnotation]; !beta && c.Spec.StorageClassName == nil {
		if class := w.standard(); class != nil {
			calls.UpdateAt(c, nil, map[string]any{"spec": map[string]any{"storageClassName": class.Name}})
			return
		}
	}
	if class := w.class(claimClass(c)); class != nil && !wait {
		if c.Annotations[provisioner] != class.Provisioner {
			calls.UpdateAt(c, map[string]any{"annotations": map[string]any{provisioner: class.Provisioner, provisionerBeta: class.Provisioner}}, nil)
		}
		if !strings.HasPrefix(class.Provisioner, "kubernetes.io/") {
			calls.Tell(c, "ExternalProvisioning", fmt.Sprintf("Waiting for a volume to be created either by the external provisioner '%s' or manually by the system administrator. "+
				"If volume creation is delayed, please verify that the provisioner is running and correctly registered.", class.Provisioner))
		}
		return // somebody else makes a volume
	}
	switch name := claimClass(c); {
	case wait && len(w.unplaced(c)) > 0:
		pods := w.unplaced(c)
		text := "waiting for pod %s to be scheduled"
		if len(pods) > 1 {
			text = "waiting for pods %s to be scheduled"
		}
		calls.Tell(c, "WaitForPodScheduled", fmt.Sprintf(text, strings.Join(pods, ",")))
	case wait:
		calls.Tell(c, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	case name != "":
		calls.Warn(c, "ProvisioningFailed", fmt.Sprintf("storageclass.storage.k8s.io %q not found", name))
	default:
		calls.Tell(c, "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
	}
	setClaim(calls, c, corev1.ClaimPending, nil)
}

// lost says why a claim that was bound is not any more.
func lost(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) (reason, message string) {
	switch {
	case c.Spec.VolumeName == "":
		return "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
	case v == nil:
		return "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
	}
	return "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly"
}

// setClaim sets the status of a claim. The volume is nil unless it is bound.
func setClaim(calls *calls.Calls, c *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, v *corev1.PersistentVolume) {
	status := map[string]any{}
	if c.Status.Phase != phase {
		status["phase"] = phase
	}
	switch {
	case v == nil && (c.Status.AccessModes != nil || c.Status.Capacity != nil):
		status["accessModes"], status["capacity"] = nil, nil
	case v != nil:
		if !slices.Equal(c.Status.AccessModes, v.Spec.AccessModes) {
			status["accessModes"] = v.Spec.AccessModes
		}
		if c.Status.Phase != phase && !equality.Semantic.DeepEqual(c.Status.Capacity, v.Spec.Capacity) {
			status["capacity"] = v.Spec.Capacity
		}
		if name := v.Spec.VolumeAttributesClassName; c.Status.Phase != phase && text(name) != text(c.Status.CurrentVolumeAttributesClassName) {
			status["currentVolumeAttributesClassName"] = name
		}
	}
	if len(status) > 0 {
		calls.UpdateStatusAt(c, status)
	}
}

// reserve reserves a volume for a claim.
func reserve(calls *calls.Calls, v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
	if r := v.Spec.ClaimRef; r == nil || r.Name != c.Name || r.Namespace != c.Namespace || r.UID != c.UID {
		var meta map[string]any
		if !isFor(v, c) {
			meta = map[string]any{"annotations": map[string]any{boundByController: "yes"}}
		}
		calls.UpdateAt(v, meta, map[string]any{"spec": map[string]any{"claimRef": corev1.ObjectReference{
			Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
		}}})
	}
}

// bind binds a volume and a claim to each other, the volume first.
func bind(calls *calls.Calls, v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
	reserve(calls, v, c)
	setVolume(calls, v, corev1.VolumeBound)
	annotations, spec := map[string]any{}, map[string]any{}
	if c.Spec.VolumeName != v.Name {
		spec["volumeName"] = v.Name
		annotations[boundByController] = "yes"
	}
	if _, ok := c.Annotations[bindCompleted]; !ok {
		annotations[bindCompleted] = "yes"
	}
	if len(annotations) > 0 {
		calls.UpdateAt(c, map[string]any{"annotations": annotations}, map[string]any{"spec": spec})
	}
	setClaim(calls, c, corev1.ClaimBound, v)
}

func setVolume(calls *calls.Calls, v *corev1.PersistentVolume, phase corev1.PersistentVolumePhase) {
	if v.Status.Phase != phase {
		calls.UpdateStatusAt(v, map[string]any{"phase": phase})
	}
}

// volume sets the phase of a volume, or completes its binding. c is the claim of its reference; nil if it is gone.
func volume(calls *calls.Calls, v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
	r := v.Spec.ClaimRef
	_, byController := v.Annotations[boundByController]
	switch {
	case r == nil || r.UID == "":
		setVolume(calls, v, corev1.VolumeAvailable)
	case c == nil || c.UID != r.UID:
		if v.Status.Phase != corev1.VolumeFailed {
			setVolume(calls, v, corev1.VolumeReleased)
		}
	case c.Spec.VolumeName == v.Name:
		setVolume(calls, v, corev1.VolumeBound)
	case c.Spec.VolumeName == "": // the reconcile of the claim binds it
	case byController:
		calls.UpdateAt(v, map[string]any{"annotations": map[string]any{boundByController: nil}}, map[string]any{"spec": map[string]any{"claimRef": nil}})
		setVolume(calls, v, corev1.VolumeAvailable)
	default:
		calls.UpdateAt(v, nil, map[string]any{"spec": map[string]any{"claimRef": map[string]any{"uid": nil}}})
		setVolume(calls, v, corev1.VolumeAvailable)
	}
}
