package apiserver_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// A day of a CronJob, and the retries and the end of a Job, take no time in a bubble.
func TestADayOfJobs(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := apiserver.Start(t, apiserver.Options{InMemory: true, Controllers: []string{"*"}})
		c := newClient(t, s)
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
		began := time.Now()
		if _, err := client.Create(ctx, c, &batchv1.CronJob{ObjectMeta: meta("hourly"), Spec: batchv1.CronJobSpec{Schedule: "0 * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}}}); err != nil {
			t.Fatal(err)
		}
		failing, limit, ttl := *template.DeepCopy(), int32(3), int32(3600)
		failing.Annotations = map[string]string{"kubelet.flyball.dev/exit-code": "1"}
		if _, err := client.Create(ctx, c, &batchv1.Job{ObjectMeta: meta("failing"), Spec: batchv1.JobSpec{BackoffLimit: &limit, TTLSecondsAfterFinished: &ttl, Template: failing}}); err != nil {
			t.Fatal(err)
		}

		time.Sleep(30 * time.Minute)
		synctest.Wait()
		job, err := client.Get[batchv1.Job](ctx, c, object.Key{Namespace: "default", Name: "failing"})
		if err != nil {
			t.Fatal(err)
		}
		last := job.Status.Conditions[len(job.Status.Conditions)-1]
		// The pods wait for 10, 20 and 40 seconds.
		if took := last.LastTransitionTime.Sub(began); last.Type != batchv1.JobFailed || job.Status.Failed != 4 || took < 65*time.Second || took > 80*time.Second {
			t.Errorf("%+v after %v", job.Status, took)
		}

		time.Sleep(24 * time.Hour)
		synctest.Wait()
		jobs := 0
		for j, err := range client.List[batchv1.Job](ctx, c, client.InNamespace("default")) {
			if err != nil {
				t.Fatal(err)
			}
			if jobs++; !strings.HasPrefix(j.Name, "hourly-") {
				t.Errorf("%s is still there", j.Name)
			}
		}
		cron, err := client.Get[batchv1.CronJob](ctx, c, object.Key{Namespace: "default", Name: "hourly"})
		if err != nil {
			t.Fatal(err)
		}
		if since := time.Since(cron.Status.LastScheduleTime.Time); jobs != 3 || since >= time.Hour || len(cron.Status.Active) != 0 {
			t.Errorf("%d jobs, the last one %v ago, %d active", jobs, since, len(cron.Status.Active))
		}
	})
}
