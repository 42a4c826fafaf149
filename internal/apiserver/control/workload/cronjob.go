package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
)

// CronJob has the objects that the controller of a CronJob reads.
type CronJob struct {
	CronJob *batchv1.CronJob
	// Jobs has the Jobs that it controls.
	Jobs []*batchv1.Job
}

// cronJob is one reconcile of a CronJob.
type cronJob struct {
	*batchv1.CronJob
	c       *calls.Calls
	now     time.Time
	jobs    []*batchv1.Job
	changed bool // the status
}

var cronJobKind = batchv1.SchemeGroupVersion.WithKind("CronJob")

// Sync starts a Job if one is due, and deletes old ones. It returns when to call it again; the zero time means after a
// change.
func (in CronJob) Sync(now time.Time, c *calls.Calls) (time.Time, error) {
	j := &cronJob{CronJob: in.CronJob.DeepCopy(), c: c, now: now}
	for _, x := range in.Jobs {
		if ref := metav1.GetControllerOfNoCopy(x); ref != nil && ref.Name == j.Name && ref.Kind == cronJobKind.Kind {
			j.jobs = append(j.jobs, x)
		}
	}
	j.cleanUp()
	j.watchJobs()
	due, err := j.start()
	if j.changed {
		c.UpdateStatus(j.CronJob)
	}
	return due, err
}

// condition returns how a job has ended; "" if it runs.
func condition(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// cleanUp deletes the oldest jobs that have ended.
func (j *cronJob) cleanUp() {
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		limit := j.Spec.SuccessfulJobsHistoryLimit
		if kind == batchv1.JobFailed {
			limit = j.Spec.FailedJobsHistoryLimit
		}
		if limit == nil {
			continue
		}
		var ended []*batchv1.Job
		for _, x := range j.jobs {
			if condition(x) == kind {
				ended = append(ended, x)
			}
		}
		slices.SortFunc(ended, func(a, b *batchv1.Job) int {
			if (a.Status.StartTime == nil) != (b.Status.StartTime == nil) {
				if a.Status.StartTime == nil {
					return 1
				}
				return -1
			}
			if a.Status.StartTime == nil {
				return cmp.Compare(a.Name, b.Name)
			}
			return cmp.Or(a.Status.StartTime.Compare(b.Status.StartTime.Time), cmp.Compare(a.Name, b.Name))
		})
		for _, x := range ended[:max(0, len(ended)-int(*limit))] {
			if x.DeletionTimestamp == nil {
				j.delete(x)
			}
		}
	}
}

// delete deletes a job with its pods.
func (j *cronJob) delete(x *batchv1.Job) {
	j.c.Delete(x, metav1.DeletePropagationBackground)
	j.deactivate(x.UID)
}

// deactivate takes a job from the active ones. It reports whether it was one.
func (j *cronJob) deactivate(uid types.UID) bool {
	n := len(j.Status.Active)
	j.Status.Active = slices.DeleteFunc(j.Status.Active, func(r corev1.ObjectReference) bool { return r.UID == uid })
	j.changed = j.changed || len(j.Status.Active) != n
	return len(j.Status.Active) != n
}

// watchJobs removes Jobs that have ended or are gone from the active ones of the status.
func (j *cronJob) watchJobs() {
	there := map[types.UID]bool{}
	for _, x := range j.jobs {
		there[x.UID] = true
		kind := condition(x)
		if kind == "" {
			continue
		}
		if j.deactivate(x.UID) {
			j.c.Tell(j.CronJob, "SawCompletedJob", fmt.Sprintf("Saw completed job: %s, condition: %s", x.Name, kind))
		}
		if at := x.Status.CompletionTime; kind == batchv1.JobComplete && at != nil && (j.Status.LastSuccessfulTime == nil || at.After(j.Status.LastSuccessfulTime.Time)) {
			j.Status.LastSuccessfulTime, j.changed = at, true
		}
	}
	for _, r := range slices.Clone(j.Status.Active) {
		if !there[r.UID] {
			j.deactivate(r.UID)
			j.c.Tell(j.CronJob, "MissingJob", "Active job went missing: "+r.Name)
		}
	}
}

// start starts a job if it is time. It returns when the next one is due.
func (j *cronJob) start() (due time.Time, err error) {
	if j.DeletionTimestamp != nil || j.Spec.Suspend != nil && *j.Spec.Suspend {
		return time.Time{}, nil
	}
	zone := time.UTC
	if j.Spec.TimeZone != nil {
		if zone, err = time.LoadLocation(*j.Spec.TimeZone); err != nil {
			j.c.Warn(j.CronJob, "UnknownTimeZone", fmt.Sprintf("invalid timeZone: %q: %s", *j.Spec.TimeZone, err))
			return time.Time{}, nil // the server has validated it: here are other zones
		}
	}
	s, err := parseSchedule(j.Spec.Schedule, zone)
	if err != nil {
		return time.Time{}, nil // nothing to do before a change of the object
	}
	if s.next(j.since(true)).IsZero() {
		j.c.Warn(j.CronJob, "InvalidSchedule", fmt.Sprintf("invalid schedule: %s : time difference between two schedules is less than 1 second", j.Spec.Schedule))
	}
	due = j.nextDue(s)
	at := j.lastDue(s, true)
	switch {
	case at.IsZero():
		return due, nil
	case j.Spec.StartingDeadlineSeconds != nil && at.Add(time.Duration(*j.Spec.StartingDeadlineSeconds)*time.Second).Before(j.now):
		j.c.Warn(j.CronJob, "MissSchedule", "Missed scheduled time to start a job: "+at.UTC().Format(time.RFC1123Z))
		return due, nil
	case j.Status.LastScheduleTime != nil && j.Status.LastScheduleTime.Time.Equal(at), j.isActive(j.jobName(at)):
		return due, nil
	case j.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(j.Status.Active) > 0:
		j.c.Tell(j.CronJob, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
		return due, nil
	}
	if j.Spec.ConcurrencyPolicy == batchv1.ReplaceConcurrent {
		for _, r := range slices.Clone(j.Status.Active) {
			if x := named(j.jobs, r.Name); x != nil {
				j.delete(x)
			}
		}
	}
	x := named(j.jobs, j.jobName(at))
	if x == nil { // the next reconcile reads it
		j.c.Create(j.newJob(at, zone))
		return due, nil
	}
	j.Status.Active = append(j.Status.Active, reference(x))
	j.Status.LastScheduleTime, j.changed = &metav1.Time{Time: at}, true
	return j.nextDue(s), nil
}

func (j *cronJob) isActive(name string) bool {
	return slices.ContainsFunc(j.Status.Active, func(r corev1.ObjectReference) bool { return r.Name == name })
}

func reference(x *batchv1.Job) corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Job", APIVersion: batchv1.SchemeGroupVersion.String(), Namespace: x.Namespace, Name: x.Name, UID: x.UID, ResourceVersion: x.ResourceVersion}
}

func (j *cronJob) jobName(at time.Time) string { return fmt.Sprintf("%s-%d", j.Name, at.Unix()/60) }

// newJob returns the Job for a time of the schedule.
func (j *cronJob) newJob(at time.Time, zone *time.Location) *batchv1.Job {
	t := j.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: j.jobName(at), Namespace: j.Namespace, Labels: t.Labels, Annotations: t.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j.CronJob, cronJobKind)},
	}, Spec: t.Spec}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, batchv1.CronJobScheduledTimestampAnnotation, at.In(zone).Format(time.RFC3339))
	return job
}

// since returns the time after which runs may have been missed. bounded applies the deadline for starts.
func (j *cronJob) since(bounded bool) time.Time {
	t := j.CreationTimestamp.Time
	if last := j.Status.LastScheduleTime; last != nil {
		t = last.Time
	}
	if d := j.Spec.StartingDeadlineSeconds; bounded && d != nil {
		if start := j.now.Add(-time.Duration(*d) * time.Second); start.After(t) {
			t = start
		}
	}
	if long := j.now.AddDate(-100, 0, 0); t.Before(long) { // a saved object may have no time, and durations end after 292 years
		t = long
	}
	return t
}

// lastDue returns the latest time of the schedule up to now that has had no run; the zero time if there is none.
func (j *cronJob) lastDue(s *schedule, bounded bool) time.Time {
	first := s.next(j.since(bounded))
	if first.IsZero() || j.now.Before(first) {
		return time.Time{}
	}
	second := s.next(first)
	if second.IsZero() || j.now.Before(second) {
		return first
	}
	// Missed times are skipped by the interval of the schedule, not one by one.
	width := second.Sub(first).Round(time.Second)
	if width < time.Second {
		return time.Time{}
	}
	missed := j.now.Sub(first)/width + 1
	var last time.Time
	for t := s.next(first.Add((missed - 2) * width)); !t.IsZero() && !t.After(j.now); t = s.next(t) {
		last = t
	}
	return last
}

// delta is added to due times, as by the real controller.
const delta = 100 * time.Millisecond

// nextDue returns when the next run is due.
func (j *cronJob) nextDue(s *schedule) time.Time {
	from := j.since(false)
	if last := j.lastDue(s, false); !last.IsZero() {
		from = last
	} else if first := s.next(from); !first.IsZero() && !j.now.Before(first) {
		from = j.now
	}
	next := s.next(from)
	if next.IsZero() {
		return next
	}
	return next.Add(delta)
}
