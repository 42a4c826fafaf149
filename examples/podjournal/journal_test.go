package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/examples/internal/sampletest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { sampletest.Main(m, main) }

func TestRefuses(t *testing.T) { sampletest.Refuses(t) }

func TestEntry(t *testing.T) {
	started := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)))
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want map[string]string
	}{
		{"not scheduled", &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending}},
			map[string]string{"phase": "Pending", "node": "", "started": "", "restarts": "0"}},
		{"running", &corev1.Pod{
			Spec: corev1.PodSpec{NodeName: "n1"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started,
				ContainerStatuses: []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 3}}},
		}, map[string]string{"phase": "Running", "node": "n1", "started": "2026-01-02T02:04:05Z", "restarts": "5"}},
	} {
		tc.pod.Name, tc.pod.UID = "p", "u1"
		got := entry(tc.pod)
		if diff := cmp.Diff(tc.want, got.Data); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
		if got.Name != "p-journal" || !metav1.IsControlledBy(got, tc.pod) {
			t.Errorf("%s: %+v", tc.name, got.ObjectMeta)
		}
	}
}

// stage is a namespace.
type stage struct {
	*testing.T
	p  *servertest.Server
	c  *client.Live
	ns string
}

func setUp(t *testing.T) *stage {
	t.Helper()
	p := servertest.Shared(t)
	return &stage{t, p, livetest.Client(t, p, client.Options{}), servertest.Namespace(t, p)}
}

// run keeps journals as the account of the manifest until stop is called, or the test ends.
func (s *stage) run() (stop func()) {
	s.Helper()
	var problems sampletest.Problems
	c, err := client.New(sampletest.Account(s, s.p, "manifests.yaml", s.ns, "podjournal"), client.Options{Hook: problems.Hook})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- keep(ctx, c, s.ns) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			s.Error(err)
		}
		c.Close()
		problems.Check(s)
	}
	s.Cleanup(stop)
	return stop
}

func (s *stage) pod(name string, labels map[string]string) *corev1.Pod {
	s.Helper()
	now := int64(0)
	p, err := client.Create(s.Context(), s.c, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &now,
			Containers:                    []corev1.Container{{Name: "pause", Image: "pause"}},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// journal returns the journal of a Pod once ok says so of it.
func (s *stage) journal(of *corev1.Pod, ok func(*corev1.ConfigMap) bool) (found *corev1.ConfigMap) {
	s.Helper()
	if !sampletest.Eventually(s, s.c, sampletest.Bound, s.ns, of.Name+suffix, func(m *corev1.ConfigMap) bool {
		found = m
		return metav1.IsControlledBy(m, of) && ok(m)
	}) {
		s.Fatalf("no such journal of %s; the last seen: %v", of.Name, found)
	}
	return found
}

func (s *stage) gone(m *corev1.ConfigMap) {
	s.Helper()
	if !sampletest.Gone(s, s.c, m) {
		s.Fatalf("%s is still there", m.Name)
	}
}

func (s *stage) patch(p *corev1.Pod, partial string) {
	s.Helper()
	if _, err := client.Patch(s.Context(), s.c, p, client.MergePatch(json.RawMessage(partial))); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) patchStatus(p *corev1.Pod, partial string) {
	s.Helper()
	if _, err := client.PatchStatus(s.Context(), s.c, p, client.MergePatch(json.RawMessage(partial))); err != nil {
		s.Fatal(err)
	}
}

func running(m *corev1.ConfigMap) bool {
	return m.Data["phase"] == "Running" && m.Data["node"] != "" && m.Data["started"] != ""
}
func whatever(*corev1.ConfigMap) bool { return true }

var asks = map[string]string{enabled: "true"}

// A journal comes, changes and goes with its Pod, and with the Pod's label.
func TestJournal(t *testing.T) {
	s := setUp(t)
	stop := s.run()
	p := s.pod("a", asks)
	first := s.journal(p, running)

	s.patchStatus(p, `{"status":{"containerStatuses":[{"name":"pause","image":"pause","imageID":"","ready":true,"restartCount":4}]}}`)
	s.journal(p, func(m *corev1.ConfigMap) bool { return m.Data["restarts"] == "4" && m.UID == first.UID })
	s.patchStatus(p, `{"status":{"phase":"Failed"}}`)
	s.journal(p, func(m *corev1.ConfigMap) bool { return m.Data["phase"] == "Failed" && m.UID == first.UID })

	// By hand changed, it is mended; deleted, it comes back.
	if _, err := client.Patch(t.Context(), s.c, first, client.MergePatch(map[string]any{"data": map[string]any{"phase": "Nonsense", "node": nil}})); err != nil {
		t.Fatal(err)
	}
	s.journal(p, func(m *corev1.ConfigMap) bool { return m.Data["phase"] == "Failed" && m.Data["node"] != "" })
	if err := client.Delete(t.Context(), s.c, first); err != nil {
		t.Fatal(err)
	}
	s.gone(first)
	second := s.journal(p, whatever)

	// The label goes, and comes back.
	s.patch(p, `{"metadata":{"labels":{"`+enabled+`":"no"}}}`)
	s.gone(second)
	s.patch(p, `{"metadata":{"labels":{"`+enabled+`":"true"}}}`)
	third := s.journal(p, whatever)

	// Another Pod of the same name.
	if err := client.Delete(t.Context(), s.c, p); err != nil {
		t.Fatal(err)
	}
	if !sampletest.Gone(t, s.c, p) {
		t.Fatal("the Pod is still there")
	}
	again := s.pod("a", asks)
	s.journal(again, running)

	// While nobody runs: a Pod goes, another comes, a third drops the label.
	kept, dropped := s.pod("kept", asks), s.pod("dropped", asks)
	s.journal(kept, running)
	left := s.journal(dropped, running)
	stop()
	s.patch(dropped, `{"metadata":{"labels":null}}`)
	late := s.pod("late", asks)
	s.run()
	s.gone(left)
	s.journal(late, running)
	s.journal(kept, running)

	if err := client.Delete(t.Context(), s.c, again); err != nil {
		t.Fatal(err)
	}
	last := s.journal(kept, whatever)
	if err := client.Delete(t.Context(), s.c, kept); err != nil {
		t.Fatal(err)
	}
	s.gone(last)
	s.gone(third)
}

// What has the name of a journal and is none stays as it is, until it makes room.
func TestForeign(t *testing.T) {
	s := setUp(t)
	foreign, err := client.Create(t.Context(), s.c, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "a" + suffix}, Data: map[string]string{"mine": "yes"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.run()
	p, q := s.pod("a", asks), s.pod("b", asks)
	s.journal(q, running) // the work goes on
	plain := s.pod("plain", nil)
	if err := client.Delete(t.Context(), s.c, q); err != nil {
		t.Fatal(err)
	}
	now, err := client.Get[corev1.ConfigMap](t.Context(), s.c, object.KeyOf(foreign))
	if err != nil || now.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign ConfigMap is now %v, %v", now, err)
	}
	if err := client.Delete(t.Context(), s.c, foreign); err != nil {
		t.Fatal(err)
	}
	s.journal(p, running)
	if _, err := client.Get[corev1.ConfigMap](t.Context(), s.c, object.Key{Namespace: s.ns, Name: plain.Name + suffix}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("a journal of a Pod that did not ask: %v", err)
	}
}

// Many Pods at once, all journals right in the end.
func TestMany(t *testing.T) {
	s := setUp(t)
	s.run()
	var pods []*corev1.Pod
	for i := range 60 {
		pods = append(pods, s.pod(fmt.Sprintf("p%d", i), asks))
	}
	var journals []*corev1.ConfigMap
	for _, p := range pods {
		journals = append(journals, s.journal(p, running))
	}
	if err := client.DeleteAll[corev1.Pod](t.Context(), s.c, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	for _, m := range journals {
		s.gone(m)
	}
}

// The program works until SIGTERM.
func TestProgram(t *testing.T) {
	s := setUp(t)
	cmd := sampletest.Command(t, "--kubeconfig", s.p.KubeconfigPath(), "--namespace", s.ns)
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.journal(s.pod("a", asks), running)
	sampletest.Stop(t, cmd, syscall.SIGTERM)
	if !bytes.Contains(out.Bytes(), []byte("creating journal="+s.ns+"/a-journal")) {
		t.Errorf("it says %s", &out)
	}
}
