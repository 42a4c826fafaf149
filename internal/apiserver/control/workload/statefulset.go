package workload

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// StatefulSet has the objects that the controller of a StatefulSet reads.
type StatefulSet struct {
	Set *appsv1.StatefulSet
	// Stored is the stored JSON of the set.
	Stored []byte
	// Pods has the Pods that the set controls, and those of the namespace without a controller.
	Pods []*corev1.Pod
	// Revisions has all revisions of the namespace.
	Revisions []*appsv1.ControllerRevision
	// Claim returns the claim of the namespace with a name; nil if there is none.
	Claim func(name string) *corev1.PersistentVolumeClaim
}

// statefulSet is one reconcile of a StatefulSet.
type statefulSet struct {
	StatefulSet
	owner
	c               *calls.Calls
	now             time.Time
	current, update *appsv1.ControllerRevision
	// The templates of the current and of the update revision.
	currentTemplate, updateTemplate *corev1.PodTemplateSpec
	status                          appsv1.StatefulSetStatus
	// replicas has a Pod for each ordinal of the set: the present one, or a new one.
	replicas []*corev1.Pod
	// condemned has the Pods of other ordinals, the highest first.
	condemned []*corev1.Pod
	due       time.Time
}

var statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// Sync creates and deletes Pods, claims and revisions, and writes the status. It returns when to call it again; the
// zero time means after a change.
func (in StatefulSet) Sync(now time.Time, c *calls.Calls) (time.Time, error) {
	selector, err := control.Selecting(in.Set.Spec.Selector, in.Set.Spec.Template.Labels)
	if err != nil {
		return time.Time{}, err
	}
	s := &statefulSet{StatefulSet: in, owner: owner{Object: in.Set, Kind: statefulSetKind, Selector: selector}, c: c, now: now}
	revisions := calls.Claim(c, s.owner, in.Revisions)
	sortRevisions(revisions)
	member := regexp.MustCompile(`^` + regexp.QuoteMeta(in.Set.Name) + `-[0-9]+$`)
	mine := slices.DeleteFunc(slices.Clone(in.Pods), func(p *corev1.Pod) bool {
		return metav1.GetControllerOfNoCopy(p) == nil && !member.MatchString(p.Name)
	})
	pods := calls.Claim(c, s.owner, mine)
	if err := s.chooseRevisions(revisions); err != nil {
		return time.Time{}, err
	}
	s.divide(pods)
	s.count(pods)
	if in.Set.DeletionTimestamp == nil {
		s.run()
	}
	s.writeStatus()
	s.truncate(revisions, pods)
	if s.status.ReadyReplicas == s.status.AvailableReplicas {
		s.due = time.Time{}
	}
	return s.due, nil
}

// chooseRevisions sets the update revision, that of the present template, which it creates if necessary; and the
// current revision, that of the Pods before an update.
func (s *statefulSet) chooseRevisions(revisions []*appsv1.ControllerRevision) error {
	data, err := revisionData(s.Stored)
	if err != nil {
		return err
	}
	var collisions int32
	if n := s.Set.Status.CollisionCount; n != nil {
		collisions = *n
	}
	next := int64(1)
	if len(revisions) > 0 {
		next = revisions[len(revisions)-1].Revision + 1
	}
	found, newest := equalRevision(revisions, data)
	switch {
	case newest:
	case found != nil: // a rollback
		s.c.PatchAt(found, nil, map[string]any{"revision": next})
	default:
		for found = newRevision(s.owner, &s.Set.Spec.Template, data, next, collisions); named(s.Revisions, found.Name) != nil; {
			collisions++
			found = newRevision(s.owner, &s.Set.Spec.Template, data, next, collisions)
		}
		s.c.Create(found)
	}
	s.update, s.current = found, named(revisions, s.Set.Status.CurrentRevision)
	if s.current == nil {
		s.current = s.update
	}
	s.status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.Set.Generation, CurrentRevision: s.current.Name, UpdateRevision: s.update.Name, CollisionCount: &collisions,
	}
	if s.currentTemplate, err = templateOf(s.current); err != nil {
		return err
	}
	s.updateTemplate, err = templateOf(s.update)
	return err
}

func named[T metav1.Object](objects []T, name string) T {
	for _, o := range objects {
		if o.GetName() == name {
			return o
		}
	}
	var none T
	return none
}

// divide sorts the Pods into replicas and condemned ones, and adds new Pods for missing ordinals.
func (s *statefulSet) divide(pods []*corev1.Pod) {
	start := s.start()
	s.replicas = make([]*corev1.Pod, *s.Set.Spec.Replicas)
	for _, p := range pods {
		if n := ordinal(p); n >= start && n < start+len(s.replicas) {
			s.replicas[n-start] = p
		} else if n >= 0 {
			s.condemned = append(s.condemned, p)
		}
	}
	slices.SortStableFunc(s.condemned, func(a, b *corev1.Pod) int { return cmp.Compare(ordinal(b), ordinal(a)) })
	for i, p := range s.replicas {
		if p == nil {
			s.replicas[i] = s.newPod(start + i)
		}
	}
}

// count sets the numbers of the status.
func (s *statefulSet) count(pods ...[]*corev1.Pod) {
	st := &s.status
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.CurrentReplicas, st.UpdatedReplicas = 0, 0, 0, 0, 0
	for _, p := range slices.Concat(pods...) {
		if p.Status.Phase == "" {
			continue // a new one
		}
		st.Replicas++
		if isRunningAndReady(p) {
			st.ReadyReplicas++
			if s.available(p) {
				st.AvailableReplicas++
			}
		}
		if p.DeletionTimestamp == nil {
			if revisionOf(p) == s.current.Name {
				st.CurrentReplicas++
			}
			if revisionOf(p) == s.update.Name {
				st.UpdatedReplicas++
			}
		}
	}
}

func isRunningAndReady(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && pod.Ready(p)
}

func (s *statefulSet) available(p *corev1.Pod) bool {
	ok, due := pod.Available(p, s.Set.Spec.MinReadySeconds, s.now)
	s.due = sooner(s.due, due)
	return ok
}

// writeStatus writes the status if it has changed.
func (s *statefulSet) writeStatus() {
	n := *s.Set.Spec.Replicas
	st, old := &s.status, &s.Set.Status
	if s.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && st.UpdatedReplicas == n && st.ReadyReplicas == n && st.Replicas == n {
		st.CurrentReplicas, st.CurrentRevision = st.UpdatedReplicas, st.UpdateRevision
	}
	if st.ObservedGeneration <= old.ObservedGeneration && st.Replicas == old.Replicas && st.CurrentReplicas == old.CurrentReplicas &&
		st.ReadyReplicas == old.ReadyReplicas && st.UpdatedReplicas == old.UpdatedReplicas && st.AvailableReplicas == old.AvailableReplicas &&
		st.CurrentRevision == old.CurrentRevision && st.UpdateRevision == old.UpdateRevision {
		return
	}
	o := s.Set.DeepCopy()
	o.Status = *st
	s.c.UpdateStatus(o)
}

// truncate deletes the oldest revisions that no Pod has, beyond the limit of the history.
func (s *statefulSet) truncate(revisions []*appsv1.ControllerRevision, pods []*corev1.Pod) {
	live := map[string]bool{s.current.Name: true, s.update.Name: true}
	for _, p := range pods {
		live[revisionOf(p)] = true
	}
	old := slices.DeleteFunc(slices.Clone(revisions), func(r *appsv1.ControllerRevision) bool { return live[r.Name] })
	limit := int(*s.Set.Spec.RevisionHistoryLimit)
	if limit < 0 || len(old) <= limit {
		return
	}
	for _, r := range old[:len(old)-limit] {
		s.c.Delete(r, "")
	}
}

func revisionOf(p *corev1.Pod) string { return p.Labels[appsv1.StatefulSetRevisionLabel] }

func (s *statefulSet) start() int {
	if s.Set.Spec.Ordinals != nil {
		return int(s.Set.Spec.Ordinals.Start)
	}
	return 0
}

var ordinalName = regexp.MustCompile(`^(.*)-([0-9]+)$`)

// ordinal returns the number at the end of the name of a Pod; -1 if there is none.
func ordinal(p *corev1.Pod) int {
	parts := ordinalName.FindStringSubmatch(p.Name)
	if parts == nil {
		return -1
	}
	n, err := strconv.ParseInt(parts[2], 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// newPod returns the Pod for an ordinal. Below the partition it has the current revision, else the update revision.
func (s *statefulSet) newPod(n int) *corev1.Pod {
	template, revision := s.updateTemplate, s.update.Name
	if u := s.Set.Spec.UpdateStrategy; u.RollingUpdate != nil && n < s.start()+int(*u.RollingUpdate.Partition) ||
		u.RollingUpdate == nil && u.Type == appsv1.RollingUpdateStatefulSetStrategyType && n < s.start()+int(s.Set.Status.CurrentReplicas) {
		template, revision = s.currentTemplate, s.current.Name
	}
	p := pod.FromTemplate(template, s.owner.Reference(), s.owner)
	p.Name = fmt.Sprintf("%s-%d", s.Set.Name, n)
	p.Spec.Hostname, p.Spec.Subdomain = p.Name, s.Set.Spec.ServiceName
	s.identify(p)
	setLabel(p, appsv1.StatefulSetRevisionLabel, revision)
	p.Spec.Volumes = s.volumes(p)
	return p
}

// identify sets the labels of a Pod that have its name and ordinal.
func (s *statefulSet) identify(p *corev1.Pod) {
	setLabel(p, appsv1.StatefulSetPodNameLabel, p.Name)
	setLabel(p, appsv1.PodIndexLabel, strconv.Itoa(ordinal(p)))
}
