package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
)

// Annotations of Deployments and their ReplicaSets.
const (
	revisionKey = "deployment.kubernetes.io/revision"
	historyKey  = "deployment.kubernetes.io/revision-history"
	desiredKey  = "deployment.kubernetes.io/desired-replicas"
	maxKey      = "deployment.kubernetes.io/max-replicas"
)

// maxHistory bounds the characters of the annotation for former revisions.
const maxHistory = 2000

// notCopied are annotations of a Deployment that its ReplicaSets do not take over.
var notCopied = map[string]bool{
	corev1.LastAppliedConfigAnnotation: true, revisionKey: true, historyKey: true, desiredKey: true, maxKey: true,
	appsv1.DeprecatedRollbackTo: true,
}

// revision returns the revision number of a ReplicaSet; zero if it has none.
func revision(rs *appsv1.ReplicaSet) int64 {
	n, err := strconv.ParseInt(rs.Annotations[revisionKey], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// find finds the ReplicaSet with the present template, and the old ones.
func (w *rollout) find() {
	w.new, w.old = nil, nil
	for _, rs := range w.sets {
		if w.new == nil && w.sameTemplate(rs) {
			w.new = rs
		} else {
			w.old = append(w.old, rs)
		}
	}
}

func (w *rollout) sameTemplate(rs *appsv1.ReplicaSet) bool {
	t := rs.Spec.Template.DeepCopy()
	delete(t.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	want := w.d.Spec.Template
	if want.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "" {
		want = *want.DeepCopy()
		delete(want.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	}
	return equality.Semantic.DeepEqual(*t, want)
}

// syncRevision sets the revision of the new ReplicaSet. If there is none and create is set, it creates it. It reports
// false if there is none afterwards.
func (w *rollout) syncRevision(create bool) bool {
	last := int64(0)
	for _, rs := range w.old {
		last = max(last, revision(rs))
	}
	next := strconv.FormatInt(last+1, 10)
	switch {
	case w.new != nil:
		if w.annotate(w.new, next) {
			w.changed[w.new] = true
		}
		if w.new.Spec.MinReadySeconds != w.d.Spec.MinReadySeconds {
			w.new.Spec.MinReadySeconds = w.d.Spec.MinReadySeconds
			w.changed[w.new] = true
		}
		w.setRevision(w.new.Annotations[revisionKey])
		if w.condition(appsv1.DeploymentProgressing) == nil && hasDeadline(w.d) {
			w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", w.new.Name))
		}
		return true
	case create:
		w.create(next)
	}
	return false
}

func (w *rollout) setRevision(text string) {
	if w.d.Annotations[revisionKey] != text {
		metav1.SetMetaDataAnnotation(&w.d.ObjectMeta, revisionKey, text)
	}
}

// create creates the ReplicaSet of the present template.
func (w *rollout) create(next string) {
	template := w.d.Spec.Template.DeepCopy()
	text, err := json.Marshal(template)
	if err != nil {
		panic(err) // it came from JSON
	}
	hash, err := w.state.TemplateHash(text, w.d.Status.CollisionCount)
	if err != nil {
		w.again = w.now.Add(retry) // the rules program has crashed
		return
	}
	name := w.d.Name + "-" + hash
	if other := control.Get[appsv1.ReplicaSet](w.state, control.ReplicaSets.Key(w.d.Namespace, name)); other != nil {
		// Another template, or another owner, has this name.
		n := int32(1)
		if w.d.Status.CollisionCount != nil {
			n += *w.d.Status.CollisionCount
		}
		w.d.Status.CollisionCount = &n
		return
	}
	template.Labels = with(template.Labels, hash)
	selector := w.d.Spec.Selector.DeepCopy()
	selector.MatchLabels = with(selector.MatchLabels, hash)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.d.Namespace, Name: name, Labels: maps.Clone(template.Labels), OwnerReferences: []metav1.OwnerReference{control.Reference("apps/v1", "Deployment", w.d)}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: w.d.Spec.MinReadySeconds, Selector: selector, Template: *template},
	}
	*rs.Spec.Replicas = w.room(rs)
	w.annotate(rs, next)
	w.annotateSize(rs)
	w.requests = append(w.requests, deploymentUser.Create(control.ReplicaSets, rs))
	w.tell(name, 0, *rs.Spec.Replicas)
	w.setRevision(next)
	if hasDeadline(w.d) {
		w.setCondition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", name))
	}
}

// with returns labels with a hash.
func with(labels map[string]string, hash string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return labels
}

// annotate gives a ReplicaSet the annotations of its Deployment, and its revision. If it had another revision, as after
// a rollback, that goes into its history. It reports whether anything has changed.
func (w *rollout) annotate(rs *appsv1.ReplicaSet, next string) (changed bool) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	for key, value := range w.d.Annotations {
		if have, ok := rs.Annotations[key]; !notCopied[key] && (!ok || have != value) {
			rs.Annotations[key] = value
			changed = true
		}
	}
	number, err := strconv.ParseInt(next, 10, 64)
	before, had := rs.Annotations[revisionKey]
	if err != nil || had && strconv.FormatInt(revision(rs), 10) != before || revision(rs) >= number {
		return changed
	}
	rs.Annotations[revisionKey] = next
	if had {
		history := before
		if all := rs.Annotations[historyKey]; all != "" {
			history = all + "," + before
		}
		for len(history) > maxHistory {
			_, history, _ = strings.Cut(history, ",")
		}
		rs.Annotations[historyKey] = history
	}
	return true
}

// annotateSize notes the size of the Deployment in a ReplicaSet, so that a change of it can be seen.
func (w *rollout) annotateSize(rs *appsv1.ReplicaSet) (changed bool) {
	for key, n := range map[string]int32{desiredKey: *w.d.Spec.Replicas, maxKey: *w.d.Spec.Replicas + surge(w.d)} {
		if text := strconv.Itoa(int(n)); rs.Annotations[key] != text {
			metav1.SetMetaDataAnnotation(&rs.ObjectMeta, key, text)
			changed = true
		}
	}
	return changed
}
