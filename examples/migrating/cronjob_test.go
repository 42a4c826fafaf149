package samples

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	cronjob "github.com/flyball-io/flyball/examples/migrating/cronjob/api"
	"github.com/flyball-io/flyball/examples/migrating/cronjob/plan"
	"github.com/flyball-io/flyball/object"
)

// A CronJob is checked and completed by the webhooks. A Job that was missed is made once, and only so many
// finished ones stay.
func TestCronJob(t *testing.T) {
	certs, ca := certificate(t)
	_, port, err := net.SplitHostPort(freeAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	all := ways("packed-cache", "flyball-manager")
	for i, w := range all {
		flags := []string{"--webhook-host=127.0.0.1", "--webhook-port=" + port}
		if w.program == "after" {
			flags = []string{"--webhook-addr=127.0.0.1:" + port}
		}
		all[i].args = append(append(flags, "--webhook-cert-dir="+certs), w.args...)
	}
	each(t, "cronjob", all, func(s *story) {
		hook(s, "127.0.0.1:"+port, ca)
		wrong := newCronJob("wrong", "every full moon")
		wrong.Namespace = s.ns
		refused(s, port, wrong, "spec.schedule")

		c := newCronJob("yearly", "0 0 1 1 *")
		c.Spec.Suspend = new(true)
		c = create(s, c)
		if c.Spec.ConcurrencyPolicy != cronjob.AllowConcurrent || *c.Spec.SuccessfulJobsHistoryLimit != 3 || *c.Spec.FailedJobsHistoryLimit != 1 {
			s.Errorf("the defaults are %+v", c.Spec)
		}

		// It was last due long ago, so it is due when it goes on.
		now := time.Now().UTC()
		due := time.Date(now.Year(), time.January, 1, 0, 0, 0, 0, time.Local)
		before := c.DeepCopy()
		c.Status.LastScheduleTime = &metav1.Time{Time: due.AddDate(-1, 0, 0)}
		if c, err = client.PatchStatusIfChanged(s.Context(), s.c, before, c); err != nil {
			s.Fatal(err)
		}
		update(s, c.Name, func(c *cronjob.CronJob) { c.Spec.Suspend = new(false) })
		job := await(s, plan.Job(c, due).Name, "the Job", func(j *batchv1.Job) bool { return metav1.IsControlledBy(j, c) })
		if job.Labels["purpose"] != "test" {
			s.Errorf("the labels of the Job are %v", job.Labels)
		}
		c = await(s, c.Name, "the status", func(c *cronjob.CronJob) bool {
			return c.Status.LastScheduleTime != nil && c.Status.LastScheduleTime.Time.Equal(due)
		})
		await(s, c.Name, "the end of the Job", func(c *cronjob.CronJob) bool { return len(c.Status.Active) == 0 })

		// Of what is finished, one stays: the newest, by the second of its start.
		<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
		extra := plan.Job(c, due.Add(time.Hour))
		extra.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c, cronjob.GroupVersion.WithKind("CronJob"))}
		extra = create(s, extra)
		await(s, extra.Name, "the end of another Job", func(j *batchv1.Job) bool { return j.Status.CompletionTime != nil })
		update(s, c.Name, func(c *cronjob.CronJob) { c.Spec.SuccessfulJobsHistoryLimit = new(int32(1)) })
		awaitGone(s, job)
		var names []string
		for j, err := range client.List[batchv1.Job](s.Context(), s.c, client.InNamespace(s.ns)) {
			if err != nil {
				s.Fatal(err)
			}
			names = append(names, j.Name)
		}
		if len(names) != 1 || names[0] != extra.Name {
			s.Errorf("the Jobs are %q, want %s alone", names, extra.Name)
		}
		remove(s, c)
	})
}

func newCronJob(name, schedule string) *cronjob.CronJob {
	return &cronjob.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: cronjob.CronJobSpec{
			Schedule: schedule,
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"purpose": "test"}},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "c", Image: "busybox", Command: []string{"true"}}},
				}}},
			},
		},
	}
}

// hook has the API server call the webhooks of the program.
func hook(s *story, addr string, ca []byte) {
	s.Helper()
	url := func(kind string) admissionv1.WebhookClientConfig {
		return admissionv1.WebhookClientConfig{URL: new("https://" + addr + "/" + kind + "-batch-example-com-v1-cronjob"), CABundle: ca}
	}
	rules := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{"batch.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"cronjobs"}},
	}}
	none := admissionv1.SideEffectClassNone
	name := metav1.ObjectMeta{GenerateName: "cronjob-"}
	mutating, err := client.Create(s.Context(), s.c, &admissionv1.MutatingWebhookConfiguration{ObjectMeta: name, Webhooks: []admissionv1.MutatingWebhook{{
		Name: "mcronjob.example.com", ClientConfig: url("mutate"), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
	}}})
	if err != nil {
		s.Fatal(err)
	}
	validating, err := client.Create(s.Context(), s.c, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: name, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "vcronjob.example.com", ClientConfig: url("validate"), Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
	}}})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		// The context of the test has ended.
		for _, o := range []object.Object{mutating, validating} {
			if err := client.Delete(context.Background(), s.c, o); err != nil {
				s.Error(err)
			}
		}
	})
}

// refused returns when the webhooks refuse an object that they must refuse. The program says when it listens.
// The API server does not say when it has heard of the webhooks: until then it takes the object, and each
// attempt begins when the watch has seen the end of the one before.
func refused(s *story, port string, c *cronjob.CronJob, why string) {
	s.Helper()
	s.log.await(s, "that it listens at port "+port, func(line string) bool {
		return strings.Contains(line, port) && (strings.Contains(line, "listening") || strings.Contains(line, "Serving webhook server"))
	})
	for ctx, late := context.WithTimeout(s.Context(), bound); ; {
		taken, err := client.Create(s.Context(), s.c, c)
		if err != nil {
			late()
			if !strings.Contains(err.Error(), why) {
				s.Fatal(err)
			}
			return
		}
		if ctx.Err() != nil {
			late()
			s.Fatalf("%s is still taken", c.Name)
		}
		remove(s, taken)
	}
}

// freeAddr is an address on loopback that nobody listens at.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// certificate makes a certificate for 127.0.0.1: the folder with its files, and what signs it.
func certificate(t *testing.T) (folder string, ca []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"tls.crt": ca, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(filepath.Join(folder, name), bytes.TrimSpace(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, ca
}
