// Package plan decides what a CronJob needs: which Jobs run, which are to go, whether one is due. It knows
// no client and no library for controllers, so both programs share it.
package plan

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/examples/migrating/cronjob/api"
)

// scheduledAt is the annotation of a Job with the time that it was due.
const scheduledAt = "batch.example.com/scheduled-at"

// Plan is what is to be done for a CronJob.
type Plan struct {
	// Active are the Jobs that run. Their references are the status.
	Active []*batchv1.Job
	// Excess are the finished Jobs beyond the limits, oldest first.
	Excess []*batchv1.Job
	// Last is the time of the last Job; zero if there is none.
	Last time.Time
	// Due is the time of the Job that is to be made now; zero: none is.
	Due time.Time
	// Next is the next time of the schedule; zero while it is suspended.
	Next time.Time
}

// Of makes the plan for a CronJob and its Jobs at a time.
func Of(c *api.CronJob, jobs []*batchv1.Job, now time.Time) (Plan, error) {
	var p Plan
	var successful, failed []*batchv1.Job
	for _, j := range jobs {
		switch finished(j) {
		case batchv1.JobComplete:
			successful = append(successful, j)
		case batchv1.JobFailed:
			failed = append(failed, j)
		default:
			p.Active = append(p.Active, j)
		}
		if t, err := time.Parse(time.RFC3339, j.Annotations[scheduledAt]); err == nil && t.After(p.Last) {
			p.Last = t
		}
	}
	if c.Status.LastScheduleTime != nil && c.Status.LastScheduleTime.After(p.Last) {
		p.Last = c.Status.LastScheduleTime.Time
	}
	slices.SortFunc(p.Active, byStart)
	p.Excess = append(beyond(successful, c.Spec.SuccessfulJobsHistoryLimit), beyond(failed, c.Spec.FailedJobsHistoryLimit)...)
	if c.Spec.Suspend != nil && *c.Spec.Suspend {
		return p, nil
	}

	schedule, err := cron.ParseStandard(c.Spec.Schedule)
	if err != nil {
		return p, fmt.Errorf("spec.schedule: %w", err)
	}
	p.Next = schedule.Next(now)
	from := p.Last
	if from.IsZero() {
		from = c.CreationTimestamp.Time
	}
	if d := c.Spec.StartingDeadlineSeconds; d != nil {
		if earliest := now.Add(-time.Duration(*d) * time.Second); earliest.After(from) {
			from = earliest
		}
	}
	// Of several missed times the latest counts. A schedule that has missed more than a hundred times
	// starts afresh.
	for t, n := schedule.Next(from), 0; !t.After(now) && n < 100; t, n = schedule.Next(t), n+1 {
		p.Due = t
	}
	if !p.Due.IsZero() && c.Spec.ConcurrencyPolicy == api.ForbidConcurrent && len(p.Active) > 0 {
		p.Due = time.Time{}
	}
	return p, nil
}

// finished is the condition that says that a Job has ended; empty: it runs.
func finished(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// beyond are the oldest jobs, so that limit stay.
func beyond(jobs []*batchv1.Job, limit *int32) []*batchv1.Job {
	slices.SortFunc(jobs, byStart)
	if limit == nil {
		return nil
	}
	return jobs[:max(0, len(jobs)-int(*limit))]
}

func byStart(a, b *batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }

// Job is the Job of a CronJob that is due at a time. Its name follows from the time, so that none is made
// twice.
func Job(c *api.CronJob, due time.Time) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name + "-" + strconv.FormatInt(due.Unix(), 10),
			Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec: *c.Spec.JobTemplate.Spec.DeepCopy(),
	}
	for k, v := range c.Spec.JobTemplate.Labels {
		j.Labels[k] = v
	}
	for k, v := range c.Spec.JobTemplate.Annotations {
		j.Annotations[k] = v
	}
	j.Annotations[scheduledAt] = due.UTC().Format(time.RFC3339)
	return j
}

// Status is the status of the CronJob by the plan.
func (p Plan) Status() api.CronJobStatus {
	var s api.CronJobStatus
	for _, j := range p.Active {
		s.Active = append(s.Active, corev1.ObjectReference{APIVersion: "batch/v1", Kind: "Job", Namespace: j.Namespace, Name: j.Name, UID: j.UID})
	}
	if !p.Last.IsZero() {
		s.LastScheduleTime = &metav1.Time{Time: p.Last}
	}
	return s
}

// SetDefaults fills in what a CronJob leaves open.
func SetDefaults(c *api.CronJob) {
	if c.Spec.ConcurrencyPolicy == "" {
		c.Spec.ConcurrencyPolicy = api.AllowConcurrent
	}
	if c.Spec.Suspend == nil {
		c.Spec.Suspend = new(false)
	}
	if c.Spec.SuccessfulJobsHistoryLimit == nil {
		c.Spec.SuccessfulJobsHistoryLimit = new(int32(3))
	}
	if c.Spec.FailedJobsHistoryLimit == nil {
		c.Spec.FailedJobsHistoryLimit = new(int32(1))
	}
}

// Validate says what the schema cannot say.
func Validate(c *api.CronJob) error {
	var errs field.ErrorList
	if _, err := cron.ParseStandard(c.Spec.Schedule); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "schedule"), c.Spec.Schedule, err.Error()))
	}
	if len(c.Name) > 52 { // eleven characters follow in the names of its Jobs
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), c.Name, "must be at most 52 characters"))
	}
	return errs.ToAggregate()
}
