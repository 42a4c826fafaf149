package workload

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
	"github.com/flyball-io/flyball/internal/backoff"
)

// Job has the objects that the controller of a Job reads.
type Job struct {
	Job *batchv1.Job
	// Pods has the Pods that the Job controls, and those of the namespace without a controller.
	Pods []*corev1.Pod
	// Backoff is the controller's memory of the Job's failures.
	Backoff *Backoff
}

// job is one reconcile of a Job.
type job struct {
	*batchv1.Job
	owner
	c   *calls.Calls
	now time.Time
	// pods has all Pods of the Job. active has those that have not ended and are not being deleted.
	pods, active       []*corev1.Pod
	ready, terminating int32
	nActive            int32
	// succeeded and failed are the counts of Pods, or indexes, that the status will have when finalizers are removed.
	succeeded, failed int32
	backoff           *Backoff
	// The next three are for indexed Jobs. failedIndexes is nil without a backoff limit for each index.
	counted, succeededIndexes, failedIndexes indexes
	// delayed has the last failed Pod of each index that waits for a new Pod.
	delayed map[int]*corev1.Pod
	// end is the condition that ends the job; nil if it goes on.
	end *batchv1.JobCondition
	due time.Time
}

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// Sync creates, deletes and counts Pods, and writes the status. It returns when to call it again; the zero time means
// after a change.
func (in Job) Sync(now time.Time, c *calls.Calls) (time.Time, error) {
	selector, err := control.Selecting(in.Job.Spec.Selector, in.Job.Spec.Template.Labels)
	if err != nil {
		return time.Time{}, err
	}
	if by := in.Job.Spec.ManagedBy; by != nil && *by != batchv1.JobControllerName {
		return time.Time{}, nil
	}
	if isFinished(in.Job) {
		for _, p := range in.Pods {
			if metav1.IsControlledBy(p, in.Job) {
				release(c, p)
			}
		}
		return time.Time{}, nil
	}
	j := &job{Job: in.Job.DeepCopy(), c: c, now: now, backoff: in.Backoff}
	j.owner = owner{Object: j.Job, Kind: jobKind, Selector: selector, Finalizers: []string{batchv1.JobTrackingFinalizer}}
	if j.Status.UncountedTerminatedPods == nil {
		j.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	j.pods = calls.Claim(c, j.owner, in.Pods)
	j.look()
	j.judge()
	changed := j.act()
	j.track(changed)
	return j.due, nil
}

// release removes the finalizer that the job uses to count the pod.
func release(c *calls.Calls, p *corev1.Pod) {
	if tracked(p) {
		c.Patch(p, map[string]any{"metadata": map[string]any{"$deleteFromPrimitiveList/finalizers": []string{batchv1.JobTrackingFinalizer}}})
	}
}

func tracked(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) }

func isFinished(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

func (j *job) suspended() bool { return j.Spec.Suspend != nil && *j.Spec.Suspend }

func (j *job) indexed() bool {
	return j.Spec.CompletionMode != nil && *j.Spec.CompletionMode == batchv1.IndexedCompletion
}

// waitsForEnd reports whether a Pod is replaced only when it has ended, not when its deletion begins.
func (j *job) waitsForEnd() bool {
	return j.Spec.PodReplacementPolicy != nil && *j.Spec.PodReplacementPolicy == batchv1.Failed || j.Spec.PodFailurePolicy != nil
}

func (j *job) hasFailed(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed ||
		!j.waitsForEnd() && p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodSucceeded
}

// validIndex returns the completion index of a Pod, or noIndex if the Job has no such index.
func (j *job) validIndex(p *corev1.Pod) int {
	if i := indexOf(p); i < int(*j.Spec.Completions) {
		return i
	}
	return noIndex
}

// look sorts the Pods into active, succeeded and failed ones, and counts them.
func (j *job) look() {
	uncounted := j.Status.UncountedTerminatedPods
	var succeeded, failed []*corev1.Pod
	ignored := 0
	for _, p := range j.pods {
		switch {
		case pod.Active(p):
			j.active = append(j.active, p)
			if pod.Ready(p) {
				j.ready++
			}
		case !pod.Ended(p):
			j.terminating++
		}
		if !tracked(p) || j.indexed() && j.validIndex(p) == noIndex {
			continue
		}
		if p.Status.Phase == corev1.PodSucceeded && !slices.Contains(uncounted.Succeeded, p.UID) {
			succeeded = append(succeeded, p)
		}
		if j.hasFailed(p) && !slices.Contains(uncounted.Failed, p.UID) {
			failed = append(failed, p)
			if !judge(j.Spec.PodFailurePolicy, p).counts() {
				ignored++
			}
		}
	}
	j.nActive = int32(len(j.active))
	j.succeeded = j.Status.Succeeded + int32(len(succeeded)+len(uncounted.Succeeded))
	j.failed = j.Status.Failed + int32(len(failed)-ignored+len(uncounted.Failed))
	if j.Status.StartTime == nil && !j.suspended() {
		j.Status.StartTime = &metav1.Time{Time: j.now}
	}
	j.backoff.add(succeeded, failed)
	if j.indexed() {
		j.lookAtIndexes()
	}
}

// lookAtIndexes finds the indexes that have succeeded, and those that have failed.
func (j *job) lookAtIndexes() {
	n := int(*j.Spec.Completions)
	j.counted = parseIndexes(j.Status.CompletedIndexes, n)
	j.succeededIndexes = parseIndexes(j.Status.CompletedIndexes, n)
	limit := j.Spec.BackoffLimitPerIndex
	if limit != nil {
		j.failedIndexes = indexes{}
		if text := j.Status.FailedIndexes; text != nil {
			j.failedIndexes = parseIndexes(*text, n)
		}
	}
	for _, p := range j.pods {
		i := j.validIndex(p)
		if i == noIndex || !tracked(p) {
			continue
		}
		if p.Status.Phase == corev1.PodSucceeded {
			j.succeededIndexes[i] = true
		}
		if limit != nil && j.hasFailed(p) {
			v := judge(j.Spec.PodFailurePolicy, p)
			counted, _ := failuresOf(p)
			if v.action == batchv1.PodFailurePolicyActionFailIndex || v.counts() && counted >= int(*limit) {
				j.failedIndexes[i] = true
			}
		}
	}
	j.succeeded = int32(len(j.succeededIndexes))
	if limit == nil {
		return
	}
	j.delayed = map[int]*corev1.Pod{}
	running := j.indexesOf(j.active)
	for _, p := range j.pods {
		i := j.validIndex(p)
		if i == noIndex || !tracked(p) || !j.hasFailed(p) || j.succeededIndexes[i] || j.failedIndexes[i] || running[i] {
			continue
		}
		if last := j.delayed[i]; last != nil {
			_, before := failuresOf(last)
			if _, now := failuresOf(p); now < before || finishTime(p).Before(finishTime(last)) {
				continue
			}
		}
		j.delayed[i] = p
	}
}

func (j *job) indexesOf(pods []*corev1.Pod) indexes {
	out := indexes{}
	for _, p := range pods {
		if i := indexOf(p); i != noIndex {
			out[i] = true
		}
	}
	return out
}

// judge sets the condition that ends the Job, if it ends.
func (j *job) judge() {
	if c := j.condition(batchv1.JobSuccessCriteriaMet); c != nil {
		j.end = c
		return
	}
	if c := j.condition(batchv1.JobFailureTarget); c != nil {
		j.end = j.newCondition(batchv1.JobFailed, c.Reason, c.Message)
		return
	}
	for _, p := range j.pods {
		if j.hasFailed(p) {
			if v := judge(j.Spec.PodFailurePolicy, p); v.message != "" {
				j.fail(batchv1.JobReasonPodFailurePolicy, v.message)
				return
			}
		}
	}
	switch deadline := j.Spec.ActiveDeadlineSeconds; {
	case j.failed > *j.Spec.BackoffLimit || j.restartsExceed():
		j.fail(batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
		return
	case deadline != nil && !j.suspended():
		end := j.Status.StartTime.Add(time.Duration(*deadline) * time.Second)
		if !end.After(j.now) {
			j.fail(batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
			return
		}
		j.due = sooner(j.due, end)
	}
	if !j.indexed() {
		return
	}
	if n := len(j.failedIndexes); n > 0 {
		if most := j.Spec.MaxFailedIndexes; most != nil && n > int(*most) {
			j.fail(batchv1.JobReasonMaxFailedIndexesExceeded, "Job has exceeded the specified maximal number of failed indexes")
			return
		}
		if n+len(j.succeededIndexes) >= int(*j.Spec.Completions) {
			j.fail(batchv1.JobReasonFailedIndexes, "Job has failed indexes")
			return
		}
	}
	if message := meetsSuccess(j.Job, j.succeededIndexes); message != "" {
		j.end = j.newCondition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonSuccessPolicy, message)
	}
}

func (j *job) fail(reason, message string) {
	j.end = j.newCondition(batchv1.JobFailureTarget, reason, message)
}

func (j *job) condition(kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		if c := &j.Status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

func (j *job) newCondition(kind batchv1.JobConditionType, reason, message string) *batchv1.JobCondition {
	t := metav1.NewTime(j.now)
	return &batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastProbeTime: t, LastTransitionTime: t, Reason: reason, Message: message}
}

// restartsExceed reports whether the restarts of containers of running Pods exceed the backoff limit.
func (j *job) restartsExceed() bool {
	if j.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	n := int32(0)
	for _, p := range j.pods {
		if p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending {
			for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
				n += s.RestartCount
			}
		}
	}
	return n > 0 && n >= *j.Spec.BackoffLimit
}

// Backoff counts the recent failures of a Job's Pods, for the delay of new ones. The zero value is that of a new Job.
type Backoff struct {
	failures int // since the last success
	last     time.Time
	seen     map[types.UID]bool
}

// add counts Pods that have ended, each once.
func (b *Backoff) add(succeeded, failed []*corev1.Pod) {
	if b.seen == nil {
		b.seen = map[types.UID]bool{}
	}
	isNew := func(p *corev1.Pod) bool {
		known := b.seen[p.UID]
		b.seen[p.UID] = true
		return !known
	}
	var success time.Time
	for _, p := range succeeded {
		if isNew(p) {
			if t := finishTime(p); t.After(success) {
				success = t
			}
		}
	}
	if !success.IsZero() {
		b.failures, b.last = 0, time.Time{}
	}
	for _, p := range failed {
		if t := finishTime(p); isNew(p) && t.After(success) {
			b.failures++
			if t.After(b.last) {
				b.last = t
			}
		}
	}
}

// retries is the backoff of the Pods of a Job that fails.
var retries = backoff.Policy{Base: 10 * time.Second, Max: 10 * time.Minute}

// until returns when new Pods may be created after a number of failures, the last one at last. The zero time means at
// once.
func until(failures int, last, now time.Time) time.Time {
	if end := last.Add(retries.Delay(failures, 0)); end.After(now) {
		return end
	}
	return time.Time{}
}

// finishTime returns when a Pod ended.
func finishTime(p *corev1.Pod) time.Time {
	var last time.Time
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Terminated == nil || s.State.Terminated.FinishedAt.IsZero() {
			last = time.Time{}
			break
		}
		if t := s.State.Terminated.FinishedAt.Time; t.After(last) {
			last = t
		}
	}
	if !last.IsZero() {
		return last
	}
	if c := pod.Condition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	if d := p.DeletionTimestamp; d != nil {
		if g := p.DeletionGracePeriodSeconds; g != nil {
			return d.Add(-time.Duration(*g) * time.Second)
		}
		return d.Time
	}
	return p.CreationTimestamp.Time
}
