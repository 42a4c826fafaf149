package rollout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/internal/apiserver/control"
)

// bounds returns the numbers of Pods that a rolling update may have too many, and that may be unavailable.
func bounds(d *appsv1.Deployment) (surge, unavailable int32) {
	r := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || r == nil {
		return 0, 0
	}
	resolve := func(v *intstr.IntOrString, up bool) int32 {
		if v == nil {
			return 0
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(v, int(*d.Spec.Replicas), up)
		if err != nil {
			return 0 // validation refuses it
		}
		return int32(n)
	}
	surge, unavailable = resolve(r.MaxSurge, true), resolve(r.MaxUnavailable, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // or nothing could move
	}
	return surge, unavailable
}

func surge(d *appsv1.Deployment) int32 {
	n, _ := bounds(d)
	return n
}

func maxUnavailable(d *appsv1.Deployment) int32 {
	_, n := bounds(d)
	return min(n, *d.Spec.Replicas)
}

// desired returns the sum of the sizes of ReplicaSets.
func desired(sets []*appsv1.ReplicaSet) (n int32) {
	for _, rs := range sets {
		n += *rs.Spec.Replicas
	}
	return n
}

// active returns the ReplicaSets with a size above zero.
func active(sets []*appsv1.ReplicaSet) (out []*appsv1.ReplicaSet) {
	for _, rs := range sets {
		if *rs.Spec.Replicas > 0 {
			out = append(out, rs)
		}
	}
	return out
}

// resized reports whether the size of the Deployment has changed since its ReplicaSets were scaled.
func (w *rollout) resized() bool {
	return slices.ContainsFunc(active(w.sets), func(rs *appsv1.ReplicaSet) bool {
		n, err := strconv.Atoi(rs.Annotations[desiredKey])
		return err == nil && int32(n) != *w.d.Spec.Replicas
	})
}

// scaleTo sets the size of a ReplicaSet, and notes that of the Deployment in it. It reports whether anything changes.
func (w *rollout) scaleTo(rs *appsv1.ReplicaSet, n int32) bool {
	changed := w.annotateSize(rs) || *rs.Spec.Replicas != n
	if changed {
		w.tell(rs.Name, *rs.Spec.Replicas, n)
		*rs.Spec.Replicas = n
		w.changed[rs] = true
	}
	return changed
}

// tell adds the Event about a ReplicaSet that is scaled.
func (w *rollout) tell(name string, before, after int32) {
	direction := "up"
	switch {
	case before == after:
		return
	case before > after:
		direction = "down"
	}
	w.events = append(w.events, control.Event{User: deploymentUser, Key: control.Deployments.Key(w.d.Namespace, w.d.Name), Reason: "ScalingReplicaSet",
		Message: fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, name, before, after)})
}

// room returns the size that the new ReplicaSet may have now.
func (w *rollout) room(rs *appsv1.ReplicaSet) int32 {
	have, want := *rs.Spec.Replicas, *w.d.Spec.Replicas
	if w.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return want
	}
	return have + max(0, min(want+surge(w.d)-desired(w.sets), want-have))
}

// scaleNew scales the new ReplicaSet as far as the strategy allows. It reports whether anything changes.
func (w *rollout) scaleNew() bool {
	switch have, want := *w.new.Spec.Replicas, *w.d.Spec.Replicas; {
	case have == want:
		return false
	case have > want:
		return w.scaleTo(w.new, want)
	}
	return w.scaleTo(w.new, w.room(w.new))
}

// scaleOld scales old ReplicaSets down while enough Pods stay available. Pods that are not available go first.
func (w *rollout) scaleOld() bool {
	if desired(w.old) == 0 {
		return false
	}
	least := *w.d.Spec.Replicas - maxUnavailable(w.d)
	spare := desired(w.sets) - least - (*w.new.Spec.Replicas - w.new.Status.AvailableReplicas)
	if spare <= 0 {
		return false
	}
	scaled := int32(0)
	for _, rs := range w.old {
		if n := min(spare-scaled, *rs.Spec.Replicas-rs.Status.AvailableReplicas); n > 0 {
			w.scaleTo(rs, *rs.Spec.Replicas-n)
			scaled += n
		}
	}
	available := int32(0)
	for _, rs := range w.sets {
		available += rs.Status.AvailableReplicas
	}
	more := available - least
	for _, rs := range w.old {
		if n := min(more, *rs.Spec.Replicas); n > 0 {
			w.scaleTo(rs, *rs.Spec.Replicas-n)
			scaled, more = scaled+n, more-n
		}
	}
	return scaled > 0
}

// scaleAll divides a changed size of the Deployment among its ReplicaSets in proportion to theirs.
func (w *rollout) scaleAll() {
	want := *w.d.Spec.Replicas
	if one := w.only(); one != nil {
		if *one.Spec.Replicas != want {
			w.scaleTo(one, want)
		}
		return
	}
	if w.saturated() {
		for _, rs := range active(w.old) {
			w.scaleTo(rs, 0)
		}
		return
	}
	if w.d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return
	}
	sets := active(w.sets)
	allowed := int32(0)
	if want > 0 {
		allowed = want + surge(w.d)
	}
	add := allowed - desired(sets)
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int { // larger ones first; of equal ones the newer if Pods are to be added
		age := cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		if add > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas), age)
	})
	sizes, added := make([]int32, len(sets)), int32(0)
	for i, rs := range sets {
		part := w.part(rs, add, added)
		sizes[i] = *rs.Spec.Replicas + part
		added += part
	}
	for i, rs := range sets {
		if i == 0 {
			sizes[i] = max(0, sizes[i]+add-added) // the remainder of rounding
		}
		w.scaleTo(rs, sizes[i])
	}
}

// only returns the one ReplicaSet with a size above zero or, if there is none, the newest; nil if there are several.
func (w *rollout) only() *appsv1.ReplicaSet {
	switch sets := active(w.sets); {
	case len(sets) == 1:
		return sets[0]
	case len(sets) > 1:
		return nil
	case w.new != nil:
		return w.new
	case len(w.old) > 0:
		return w.old[len(w.old)-1]
	}
	return nil
}

// saturated reports whether the new ReplicaSet has all its Pods.
func (w *rollout) saturated() bool {
	if w.new == nil {
		return false
	}
	n, err := strconv.Atoi(w.new.Annotations[desiredKey])
	want := *w.d.Spec.Replicas
	return err == nil && *w.new.Spec.Replicas == want && int32(n) == want && w.new.Status.AvailableReplicas == want
}

// part returns by how many replicas one ReplicaSet is scaled. The Deployment as a whole is scaled by add; other
// ReplicaSets have taken added of them already.
func (w *rollout) part(rs *appsv1.ReplicaSet, add, added int32) int32 {
	if add == 0 || add == added {
		return 0
	}
	fraction := -*rs.Spec.Replicas
	if *w.d.Spec.Replicas > 0 {
		before, err := strconv.Atoi(rs.Annotations[maxKey])
		if err != nil || before == 0 {
			before = int(w.d.Status.Replicas)
		}
		if before == 0 {
			return 0
		}
		after := float64(*rs.Spec.Replicas*(*w.d.Spec.Replicas+surge(w.d))) / float64(before)
		fraction = int32(math.Round(after)) - *rs.Spec.Replicas
	}
	if add > 0 {
		return min(fraction, add-added)
	}
	return max(fraction, add-added)
}
