package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

const jobText = `{"metadata":{"name":"work","namespace":"ns","uid":"work"},"spec":{"parallelism":2,"completions":3,"backoffLimit":1,"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}MORE}}`

// jobWorld steps a Job.
type jobWorld struct {
	Job
	t *testing.T
}

func newJob(t *testing.T, more string) *jobWorld {
	return &jobWorld{t: t, Job: Job{Job: controltest.Parse[batchv1.Job](t, strings.Replace(jobText, "MORE", more, 1)), Backoff: &Backoff{}}}
}

// step checks what a step asks for, and does it.
func (w *jobWorld) step(now time.Time, want ...string) time.Time {
	w.t.Helper()
	c := &calls.Calls{}
	due, err := w.Sync(now, c)
	if err != nil {
		w.t.Fatal(err)
	}
	expect(w.t, c, want...)
	for _, r := range c.List {
		for _, p := range w.Pods {
			if strings.HasSuffix(r.URL, "/pods/"+p.Name) {
				switch r.Method {
				case "PATCH":
					p.Finalizers = nil
				case "DELETE":
					p.DeletionTimestamp = &metav1.Time{Time: now}
				}
			}
		}
		if strings.HasSuffix(r.URL, "/status") {
			w.Job.Job.Status = controltest.Parse[batchv1.Job](w.t, string(r.Body)).Status
		}
	}
	for _, p := range w.Pods { // the kubelet has ended what is deleted
		if p.DeletionTimestamp != nil && p.Status.Phase == corev1.PodRunning {
			p.Status.Phase = corev1.PodFailed
		}
	}
	for _, p := range made(w.t, c) {
		p.Name = fmt.Sprintf("%s%d", p.GenerateName, len(w.Pods))
		p.UID = types.UID(p.Name)
		w.Pods = append(w.Pods, ready(p)...)
	}
	return due
}

// end ends a pod at a time.
func (w *jobWorld) end(i int, phase corev1.PodPhase, at time.Time) {
	p := w.Pods[i]
	p.Status.Phase = phase
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 42, FinishedAt: metav1.NewTime(at)}}}}
}

func (w *jobWorld) ended(want batchv1.JobConditionType, reason string) {
	w.t.Helper()
	last := w.Job.Job.Status.Conditions[len(w.Job.Job.Status.Conditions)-1]
	if last.Type != want || last.Reason != reason {
		w.t.Errorf("ended by %+v, want %s %s", last, want, reason)
	}
	w.step(start.Add(24 * time.Hour))
}

// Each pod is noted, released and then counted. After a failure the next one waits.
func TestJob(t *testing.T) {
	w := newJob(t, "")
	w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status")
	w.step(start, "PUT work status") // they are ready
	w.end(0, corev1.PodSucceeded, start)
	w.end(1, corev1.PodFailed, start.Add(time.Second))
	due := w.step(start.Add(time.Second), "PUT work status", "PATCH pods work-0", "PATCH pods work-1")
	if u := w.Job.Job.Status.UncountedTerminatedPods; len(u.Succeeded) != 1 || len(u.Failed) != 1 || !due.Equal(start.Add(11*time.Second)) {
		t.Errorf("%+v, due at %v", u, due)
	}
	w.step(start.Add(time.Second), "PUT work status")
	if s := w.Job.Job.Status; s.Succeeded != 1 || s.Failed != 1 || len(s.UncountedTerminatedPods.Failed) != 0 {
		t.Errorf("%+v", s)
	}
	w.step(start.Add(10 * time.Second))
	w.step(start.Add(11*time.Second), "POST pods work-*", "POST pods work-*", "PUT work status")
	w.end(2, corev1.PodSucceeded, start)
	w.end(3, corev1.PodSucceeded, start)
	w.step(start, "PUT work status", "PATCH pods work-2", "PATCH pods work-3")
	w.step(start, "PUT work status")
	w.step(start, "PUT work status")
	w.ended(batchv1.JobComplete, batchv1.JobReasonCompletionsReached)
	if s := w.Job.Job.Status; s.Succeeded != 3 || s.CompletionTime == nil || s.Active != 0 || *s.Terminating != 0 {
		t.Errorf("%+v", s)
	}
}

func TestJobFails(t *testing.T) {
	w := newJob(t, "")
	w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status")
	w.end(0, corev1.PodFailed, start)
	w.end(1, corev1.PodFailed, start)
	w.step(start, "PUT work status", "PATCH pods work-0", "PATCH pods work-1")
	w.step(start, "PUT work status")
	w.step(start, "PUT work status")
	w.ended(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded)

	w = newJob(t, `,"activeDeadlineSeconds":60`)
	if due := w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status"); !due.Equal(start.Add(time.Minute)) {
		t.Errorf("due at %v", due)
	}
	end := start.Add(time.Minute)
	w.step(end, "DELETE pods work-0", "DELETE pods work-1", "PUT work status", "PATCH pods work-0", "PATCH pods work-1")
	w.step(end, "PUT work status")
	w.step(end, "PUT work status")
	w.ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded)

	w = newJob(t, `,"podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]},{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]}`)
	w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status")
	w.end(0, corev1.PodFailed, start)
	w.step(start, "DELETE pods work-1", "PUT work status", "PATCH pods work-0", "PATCH pods work-1")
	w.step(start, "PUT work status")
	w.step(start, "PUT work status")
	w.ended(batchv1.JobFailed, batchv1.JobReasonPodFailurePolicy)
	if m := w.Job.Job.Status.Conditions[0].Message; m != "Container c for pod ns/work-0 failed with exit code 42 matching FailJob rule at index 1" {
		t.Error(m)
	}
}

// Indexes are counted by themselves, and fail by themselves.
func TestIndexedJob(t *testing.T) {
	w := newJob(t, `,"completionMode":"Indexed","backoffLimitPerIndex":0`)
	w.step(start, "POST pods work-0-*", "POST pods work-1-*", "PUT work status")
	if p := w.Pods[1]; p.Spec.Hostname != "work-1" || p.Annotations[batchv1.JobIndexFailureCountAnnotation] != "0" || p.Spec.Containers[0].Env[0].Name != indexVariable {
		t.Errorf("%+v", p)
	}
	w.end(0, corev1.PodSucceeded, start)
	w.end(1, corev1.PodFailed, start)
	w.step(start, "POST pods work-2-*", "PUT work status", "PATCH pods work-0-0", "PATCH pods work-1-1")
	if s := w.Job.Job.Status; s.CompletedIndexes != "0" || *s.FailedIndexes != "1" || s.Succeeded != 1 {
		t.Errorf("%+v", s)
	}
	w.end(2, corev1.PodSucceeded, start)
	w.step(start, "PUT work status", "PATCH pods work-2-2")
	w.step(start, "PUT work status")
	w.ended(batchv1.JobFailed, batchv1.JobReasonFailedIndexes)

	w = newJob(t, `,"completionMode":"Indexed","successPolicy":{"rules":[{"succeededIndexes":"1-2","succeededCount":1}]}`)
	w.step(start, "POST pods work-0-*", "POST pods work-1-*", "PUT work status")
	w.end(1, corev1.PodSucceeded, start)
	w.step(start, "DELETE pods work-0-0", "PUT work status", "PATCH pods work-0-0", "PATCH pods work-1-1")
	w.step(start, "PUT work status") // none is being deleted any more
	w.step(start, "PUT work status")
	w.ended(batchv1.JobComplete, batchv1.JobReasonSuccessPolicy)
}

func TestSuspendedJob(t *testing.T) {
	w := newJob(t, "")
	w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status")
	yes, no := true, false
	w.Job.Job.Spec.Suspend = &yes
	w.step(start, "PATCH pods work-0", "DELETE pods work-0", "PATCH pods work-1", "DELETE pods work-1", "PUT work status")
	if s := w.Job.Job.Status; s.StartTime != nil || s.Conditions[0].Status != corev1.ConditionTrue || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	w.Pods = nil
	w.Job.Job.Spec.Suspend = &no
	w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status")
	if s := w.Job.Job.Status; s.StartTime == nil || s.Conditions[0].Status != corev1.ConditionFalse {
		t.Errorf("%+v", s)
	}
}

// Of pods that are too many, those go that do the least.
func TestJobShrinks(t *testing.T) {
	w := newJob(t, "")
	w.step(start, "POST pods work-*", "POST pods work-*", "PUT work status")
	w.Pods[1].Status.Conditions = nil
	one := int32(1)
	w.Job.Job.Spec.Parallelism = &one
	w.step(start, "PATCH pods work-1", "DELETE pods work-1", "PUT work status")
}

func newCronJob(t *testing.T, spec string) *CronJob {
	return &CronJob{CronJob: controltest.Parse[batchv1.CronJob](t, `{"metadata":{"name":"cron","namespace":"ns","uid":"cron","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"schedule":"*/5 * * * *","successfulJobsHistoryLimit":1,"failedJobsHistoryLimit":1,`+
		`"jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{}}`+spec+`}}`)}
}

// step checks what a step asks for, and does it.
func (in *CronJob) step(t *testing.T, now time.Time, want ...string) time.Time {
	t.Helper()
	c := &calls.Calls{}
	due, err := in.Sync(now, c)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c, want...)
	for _, r := range c.List {
		switch {
		case r.Method == "POST":
			j := controltest.Parse[batchv1.Job](t, string(r.Body))
			j.UID = types.UID(j.Name)
			in.Jobs = append(in.Jobs, j)
		case r.Method == "DELETE":
			for i, j := range in.Jobs {
				if strings.HasSuffix(r.URL, "/"+j.Name) {
					in.Jobs = append(in.Jobs[:i:i], in.Jobs[i+1:]...)
					break
				}
			}
		default:
			in.CronJob.Status = controltest.Parse[batchv1.CronJob](t, string(r.Body)).Status
		}
	}
	return due
}

func endJob(j *batchv1.Job, kind batchv1.JobConditionType, at time.Time) {
	j.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
	j.Status.StartTime, j.Status.CompletionTime = &metav1.Time{Time: at}, &metav1.Time{Time: at}
}

// at is a time of the first day.
func at(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }

func TestCronJob(t *testing.T) {
	const first, second, third = "cron-29453765", "cron-29453770", "cron-29453775"
	j := newCronJob(t, "")
	if due := j.step(t, start); !due.Equal(at(5).Add(delta)) {
		t.Errorf("due at %v", due)
	}
	j.step(t, at(5), "POST jobs "+first)
	if a := j.Jobs[0].Annotations[batchv1.CronJobScheduledTimestampAnnotation]; a != "2026-01-01T00:05:00Z" {
		t.Error(a)
	}
	if due := j.step(t, at(5), "PUT cron status"); !due.Equal(at(10).Add(delta)) {
		t.Errorf("due at %v", due)
	}
	if s := j.CronJob.Status; len(s.Active) != 1 || s.Active[0].Name != first || !s.LastScheduleTime.Time.Equal(at(5)) {
		t.Errorf("%+v", s)
	}
	j.step(t, at(9))
	endJob(j.Jobs[0], batchv1.JobComplete, at(6))
	j.step(t, at(9), "PUT cron status")
	j.step(t, at(10), "POST jobs "+second)
	j.step(t, at(10), "PUT cron status")
	endJob(j.Jobs[1], batchv1.JobComplete, at(11))
	j.step(t, at(11), "DELETE jobs "+first, "PUT cron status")
	if s := j.CronJob.Status; len(s.Active) != 0 || !s.LastSuccessfulTime.Time.Equal(at(11)) {
		t.Errorf("%+v", s)
	}
	j.step(t, at(17), "POST jobs "+third) // late
	j.step(t, at(17), "PUT cron status")
	j.Jobs = nil
	j.step(t, at(18), "PUT cron status")
	if s := j.CronJob.Status; len(s.Active) != 0 {
		t.Errorf("%+v", s)
	}
	j.step(t, at(24*60+3), "POST jobs cron-29455200") // the last of many
}

func TestCronJobPolicies(t *testing.T) {
	for policy, want := range map[string][]string{
		"Allow": {"POST jobs cron-29453770"}, "Forbid": nil, "Replace": {"DELETE jobs cron-29453765", "POST jobs cron-29453770", "PUT cron status"},
	} {
		j := newCronJob(t, `,"concurrencyPolicy":"`+policy+`"`)
		j.step(t, at(5), "POST jobs cron-29453765")
		j.step(t, at(5), "PUT cron status")
		j.step(t, at(10), want...)
	}
	newCronJob(t, `,"suspend":true`).step(t, at(5))
	newCronJob(t, `,"startingDeadlineSeconds":30`).step(t, at(6))
	newCronJob(t, `,"startingDeadlineSeconds":90`).step(t, at(6), "POST jobs cron-29453765")
	newCronJob(t, `,"timeZone":"No/Where"`).step(t, at(6))
}
