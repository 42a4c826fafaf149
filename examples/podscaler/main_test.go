package main

import (
	"bytes"
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/internal/sampletest"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/test/servertest"

	"github.com/flyball-io/flyball/internal/livetest"
)

func TestMain(m *testing.M) { sampletest.Main(m, main) }

func TestRefuses(t *testing.T) { sampletest.Refuses(t) }

// The program scales until SIGTERM, in the one namespace.
func TestProgram(t *testing.T) {
	p := servertest.Shared(t)
	c, ns := livetest.Client(t, p, client.Options{}), servertest.Namespace(t, p)
	cmd := sampletest.Command(t, "--kubeconfig", p.KubeconfigPath(), "--namespaces", ns, "--log-format=json", "--update-interval", "1s")
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deploy(t, c, ns, "web", map[string]string{scaler.Selector: "app=web", scaler.MinReplicas: "3"})
	if !scaled(t, c, ns, 3) {
		t.Errorf("not scaled; it says %s", &out)
	}
	sampletest.Stop(t, cmd, syscall.SIGTERM)
	for line := range bytes.Lines(out.Bytes()) {
		if !json.Valid(line) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// The rights in the manifest are enough.
func TestRights(t *testing.T) {
	p := servertest.Shared(t)
	c, ns := livetest.Client(t, p, client.Options{}), servertest.Namespace(t, p)
	var problems sampletest.Problems
	o := flyball.Options{Name: "podscaler", Config: sampletest.Account(t, p, "manifests.yaml", ns, "podscaler"), Client: client.Options{Hook: problems.Hook}}
	o.Cache.Namespaces = []string{ns}
	mgr, err := flyball.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := scaler.Add(mgr, time.Minute, controller.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Run(ctx) }()
	deploy(t, c, ns, "web", map[string]string{scaler.Selector: "app=web", scaler.MinReplicas: "3"})
	if !scaled(t, c, ns, 3) {
		t.Error("not scaled")
	}
	deploy(t, c, ns, "bad", map[string]string{scaler.Selector: "a=b=c"})
	if !sampletest.Eventually(t, c, sampletest.Bound, ns, "", func(e *eventsv1.Event) bool { return e.Reason == "BadAnnotation" }) {
		t.Error("no event")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	problems.Check(t)
}

func deploy(t *testing.T, c *client.Live, ns, name string, annotations map[string]string) {
	t.Helper()
	labels := map[string]string{"app": name}
	if _, err := client.Create(t.Context(), c, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: "pause"}}},
			},
		},
	}); err != nil {
		t.Fatal(err)
	}
}

func scaled(t *testing.T, c *client.Live, ns string, want int32) bool {
	t.Helper()
	return sampletest.Eventually(t, c, sampletest.Bound, ns, "web", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == want })
}
