package main

import (
	"bufio"
	"fmt"
	"regexp"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/examples/internal/sampletest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { sampletest.Main(m, main) }

func TestRefuses(t *testing.T) { sampletest.Refuses(t) }

func TestBadSelector(t *testing.T) {
	out, err := sampletest.Command(t, "--selector", "a=b=c").CombinedOutput()
	if err == nil || !regexp.MustCompile(`invalid value "a=b=c" for flag -selector: `).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
}

// The program, by the rights of its manifest, tells of what is selected and of nothing else.
func TestProgram(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	c := livetest.Client(t, p, client.Options{})
	cmd := sampletest.Command(t, "--kubeconfig", sampletest.Kubeconfig(t, p, "manifests.yaml", ns, "deploywatch"), "--namespace", ns, "--selector", "app=web")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	made := deploy(t, c, ns, "before", "web")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(sampletest.Bound, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewScanner(stdout)
	expect := func(pattern string) {
		t.Helper()
		whole := regexp.MustCompile("^" + fmt.Sprintf(pattern, regexp.QuoteMeta(ns)) + "$")
		foreign := regexp.MustCompile("/other")
		for lines.Scan() {
			if foreign.MatchString(lines.Text()) {
				t.Errorf("not selected: %s", lines.Text())
			}
			if whole.MatchString(lines.Text()) {
				return
			}
		}
		t.Fatalf("it never said %s: %v", pattern, lines.Err())
	}
	expect(`added   %s/before: \d of \d replicas ready`)
	deploy(t, c, ns, "other", "db")
	deploy(t, c, ns, "after", "web")
	expect(`added   %s/after: \d of \d replicas ready`)
	expect(`updated %s/after: 1 of 1 replicas ready`)
	if err := client.SetScale(t.Context(), c, made, 3); err != nil {
		t.Fatal(err)
	}
	expect(`updated %s/before: 3 of 3 replicas ready`)
	if err := client.Delete(t.Context(), c, made); err != nil {
		t.Fatal(err)
	}
	expect(`deleted %s/before`)
	sampletest.Stop(t, cmd, syscall.SIGTERM)
}

func deploy(t *testing.T, c *client.Live, ns, name, app string) *appsv1.Deployment {
	t.Helper()
	labels := map[string]string{"app": app, "of": name}
	d, err := client.Create(t.Context(), c, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "pause"}}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
