package workload

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

// maxPods bounds the Pods that one reconcile creates or deletes.
const maxPods = 500

// act creates and deletes Pods. It reports whether the status has changed.
func (j *job) act() (changed bool) {
	if j.end != nil {
		j.remove(j.active, false)
	} else {
		managed := j.DeletionTimestamp == nil
		if managed {
			j.manage()
		}
		complete := j.nActive == 0 && (j.Spec.Completions == nil && j.succeeded > 0 || j.Spec.Completions != nil && j.succeeded >= *j.Spec.Completions)
		switch {
		case complete:
			j.end = j.newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
		case managed && j.suspended():
			if changed = j.setSuspended(corev1.ConditionTrue, "JobSuspended", "Job suspended"); changed {
				j.c.Tell(j.Job, "Suspended", "Job suspended")
				j.Status.StartTime = nil
			}
		case managed:
			if changed = j.setSuspended(corev1.ConditionFalse, "JobResumed", "Job resumed"); changed {
				j.c.Tell(j.Job, "Resumed", "Job resumed")
				j.Status.StartTime = &metav1.Time{Time: j.now}
			}
		}
	}
	old := j.Status
	changed = changed || old.Active != j.nActive || old.Ready == nil || *old.Ready != j.ready || old.Terminating == nil || *old.Terminating != j.terminating
	j.Status.Active, j.Status.Ready, j.Status.Terminating = j.nActive, &j.ready, &j.terminating
	return changed
}

// setSuspended sets the condition Suspended. It does not add one with the status False.
func (j *job) setSuspended(status corev1.ConditionStatus, reason, message string) (changed bool) {
	c := j.newCondition(batchv1.JobSuspended, reason, message)
	c.Status = status
	for i := range j.Status.Conditions {
		if old := &j.Status.Conditions[i]; old.Type == c.Type {
			changed = old.Status != c.Status || old.Reason != reason || old.Message != message
			if changed {
				*old = *c
			}
			return changed
		}
	}
	if status == corev1.ConditionTrue {
		j.Status.Conditions = append(j.Status.Conditions, *c)
		return true
	}
	return false
}

// remove deletes active Pods. With uncounted set it releases them first, so that the Job does not count them.
func (j *job) remove(pods []*corev1.Pod, uncounted bool) {
	for _, p := range pods {
		if uncounted {
			release(j.c, p)
		}
		j.c.Delete(p, "")
		j.nActive--
		j.terminating++
		if pod.Ready(p) {
			j.ready--
		}
	}
}

// manage creates or deletes Pods until the number of active Pods is what the Job wants.
func (j *job) manage() {
	if j.suspended() {
		j.remove(j.active, true)
		return
	}
	want := *j.Spec.Parallelism
	switch {
	case j.Spec.Completions == nil && j.succeeded > 0:
		want = j.nActive
	case j.Spec.Completions != nil:
		want = max(0, min(want, *j.Spec.Completions-j.succeeded))
	}
	if excess := j.excess(int(max(0, j.nActive-want))); len(excess) > 0 {
		j.remove(excess[:min(len(excess), maxPods)], true)
		return
	}
	missing := want - j.nActive
	if j.waitsForEnd() {
		missing -= j.terminating
	}
	if missing <= 0 {
		return
	}
	missing = min(missing, maxPods)
	perIndex := j.Spec.BackoffLimitPerIndex != nil
	if at := until(j.backoff.failures, j.backoff.last, j.now); !perIndex && !at.IsZero() {
		j.due = sooner(j.due, at)
		return
	}
	if !j.indexed() {
		for range missing {
			j.create(j.newPod())
		}
		return
	}
	for _, i := range j.pending(int(missing)) {
		p := j.newPod()
		setIndex(p, j.Job, i)
		if perIndex {
			j.setFailures(p, j.delayed[i])
		}
		j.create(p)
	}
}

func (j *job) newPod() *corev1.Pod {
	p := pod.FromTemplate(&j.Spec.Template, j.owner.Reference(), j.owner)
	if !tracked(p) {
		p.Finalizers = append(p.Finalizers, batchv1.JobTrackingFinalizer)
	}
	return p
}

func (j *job) create(p *corev1.Pod) {
	j.c.Create(p)
	j.nActive++
}

// pending returns the lowest indexes that need a Pod now, at most n.
func (j *job) pending(n int) []int {
	taken := j.indexesOf(j.active)
	if j.waitsForEnd() {
		for _, p := range j.pods {
			if p.DeletionTimestamp != nil && !pod.Ended(p) {
				taken[indexOf(p)] = true
			}
		}
	}
	var now []int
	var first time.Time
	for i, count := 0, 0; i < int(*j.Spec.Completions) && count < n; i++ {
		if taken[i] || j.succeededIndexes[i] || j.failedIndexes[i] {
			continue
		}
		count++
		if p := j.delayed[i]; p != nil {
			_, failures := failuresOf(p)
			if at := until(failures+1, finishTime(p), j.now); !at.IsZero() {
				first = sooner(first, at)
				continue
			}
		}
		now = append(now, i)
	}
	j.due = sooner(j.due, first)
	return now
}

// setFailures notes in the annotations of a new Pod how often its index has failed. replaced is the last failed Pod of
// the index; it may be nil.
func (j *job) setFailures(p, replaced *corev1.Pod) {
	counted, ignored := 0, 0
	if replaced != nil {
		n, all := failuresOf(replaced)
		counted, ignored = n, all-n
		if judge(j.Spec.PodFailurePolicy, replaced).counts() {
			counted++
		} else {
			ignored++
		}
	}
	p.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(counted)
	if ignored > 0 {
		p.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(ignored)
	}
}

// excess returns the active Pods that are too many: at least n, and all with the index of another Pod, or without a
// valid index.
func (j *job) excess(n int) []*corev1.Pod {
	left := slices.Clone(j.active)
	pod.SortForDeletion(left, nil, j.now)
	var out []*corev1.Pod
	if j.indexed() {
		last := map[int]*corev1.Pod{}
		for _, p := range left {
			if i := j.validIndex(p); i != noIndex {
				last[i] = p
			}
		}
		var kept []*corev1.Pod
		for _, p := range left {
			if i := j.validIndex(p); i == noIndex || last[i] != p {
				out = append(out, p)
			} else {
				kept = append(kept, p)
			}
		}
		left = kept
	}
	if more := n - len(out); more > 0 {
		out = append(out, left[:min(more, len(left))]...)
	}
	return out
}

// track counts the Pods that have ended, and ends the Job. A Pod is first noted in the status as not counted, then
// released, and then counted: so none is counted twice, whatever request fails in between.
func (j *job) track(changed bool) {
	if j.clean() {
		changed = true
	}
	var ended []*corev1.Pod
	uncounted := j.Status.UncountedTerminatedPods
	for _, p := range slices.SortedStableFunc(slices.Values(j.pods), func(a, b *corev1.Pod) int { return cmp.Compare(indexOf(a), indexOf(b)) }) {
		if !tracked(p) || !j.mayRelease(p) || len(ended) >= maxPods {
			continue
		}
		ended = append(ended, p)
		valid := !j.indexed() || j.validIndex(p) != noIndex
		failedNow := j.hasFailed(p) || j.end != nil && j.end.Type != batchv1.JobSuccessCriteriaMet
		switch {
		case p.Status.Phase == corev1.PodSucceeded && !slices.Contains(uncounted.Failed, p.UID):
			if j.indexed() {
				if valid {
					j.counted[indexOf(p)] = true
				}
			} else if !slices.Contains(uncounted.Succeeded, p.UID) {
				uncounted.Succeeded, changed = append(uncounted.Succeeded, p.UID), true
			}
		case failedNow && valid && !slices.Contains(uncounted.Failed, p.UID) && judge(j.Spec.PodFailurePolicy, p).counts():
			uncounted.Failed, changed = append(uncounted.Failed, p.UID), true
		}
	}
	if j.indexed() && j.setIndexes() {
		changed = true
	}
	if j.end != nil {
		final := *j.end
		if kind := j.end.Type; kind != batchv1.JobFailed && j.condition(kind) == nil {
			j.Status.Conditions, changed = append(j.Status.Conditions, *j.end), true
		}
		switch final.Type {
		case batchv1.JobFailureTarget:
			final.Type = batchv1.JobFailed
		case batchv1.JobSuccessCriteriaMet:
			final.Type = batchv1.JobComplete
		}
		if !changed && len(ended) == 0 && j.nActive == 0 && j.terminating == 0 && len(uncounted.Succeeded)+len(uncounted.Failed) == 0 {
			j.finish(final)
			changed = true
		}
	}
	if changed {
		j.c.UpdateStatus(j.Job)
	}
	for _, p := range ended {
		release(j.c, p)
	}
}

// finish sets the condition that ends the Job, and the fields of the status that go with it.
func (j *job) finish(c batchv1.JobCondition) {
	t := metav1.NewTime(j.now)
	c.LastProbeTime, c.LastTransitionTime = t, t
	j.Status.Conditions = append(j.Status.Conditions, c)
	if c.Type != batchv1.JobComplete {
		j.c.Warn(j.Job, c.Reason, c.Message)
		return
	}
	j.Status.CompletionTime = &t
	if n := j.Spec.Completions; n != nil && j.Status.Succeeded > *n {
		j.c.Warn(j.Job, "TooManySucceededPods", "Too many succeeded pods running after completion count reached")
	}
	j.c.Tell(j.Job, "Completed", "Job completed")
}

// clean counts the Pods that were noted in the status and have been released. It reports whether there are any.
func (j *job) clean() (changed bool) {
	held := map[any]bool{}
	for _, p := range j.pods {
		held[p.UID] = tracked(p)
	}
	u := j.Status.UncountedTerminatedPods
	count := func(uids int, left int, n *int32) {
		*n += int32(uids - left)
		changed = changed || uids != left
	}
	succeeded, failed := len(u.Succeeded), len(u.Failed)
	for i := len(u.Succeeded) - 1; i >= 0; i-- {
		if !held[u.Succeeded[i]] {
			u.Succeeded = slices.Delete(u.Succeeded, i, i+1)
		}
	}
	for i := len(u.Failed) - 1; i >= 0; i-- {
		if !held[u.Failed[i]] {
			u.Failed = slices.Delete(u.Failed, i, i+1)
		}
	}
	count(succeeded, len(u.Succeeded), &j.Status.Succeeded)
	count(failed, len(u.Failed), &j.Status.Failed)
	return changed
}

// mayRelease reports whether a Pod may be released: it has ended, or the Job has.
func (j *job) mayRelease(p *corev1.Pod) bool {
	if j.DeletionTimestamp != nil || j.end != nil || p.Status.Phase == corev1.PodSucceeded {
		return true
	}
	return j.hasFailed(p) && (j.delayed == nil || j.delayed[indexOf(p)] != p)
}

// setIndexes sets the indexes of the status. It reports whether they have changed.
func (j *job) setIndexes() (changed bool) {
	maps.Copy(j.counted, j.succeededIndexes)
	text := j.counted.String()
	changed = text != j.Status.CompletedIndexes
	j.Status.CompletedIndexes, j.Status.Succeeded = text, int32(len(j.counted))
	var failed *string
	if j.failedIndexes != nil {
		text := j.failedIndexes.String()
		failed = &text
	}
	old := j.Status.FailedIndexes
	changed = changed || (old == nil) != (failed == nil) || old != nil && *old != *failed
	j.Status.FailedIndexes = failed
	return changed
}
