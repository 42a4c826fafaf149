package scaler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/examples/internal/sampletest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

var myapp = map[string]string{Selector: "app=myapp"}

// Pods come, end and go. The replicas carry app=myapp, too, and never count.
func TestStory(t *testing.T) {
	s := start(t, time.Second)
	s.scaled("web", myapp)
	s.replicas("web", 0, bound)

	pods := s.pods(95, "app", "myapp")
	s.replicas("web", 10, bound)
	s.remove(pods[:41])
	s.replicas("web", 6, bound)
	failed := client.MergePatch(map[string]any{"status": map[string]any{"phase": "Failed"}})
	s.each(10, func(i int) error {
		_, err := client.PatchStatus(s.Context(), s.c, pods[41+i], failed)
		return err
	})
	s.replicas("web", 5, bound)
	if !sampletest.Eventually(t, s.c, bound, s.ns, "web", func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 5 && d.Status.Replicas == 5 }) {
		t.Fatal("the replicas do not run")
	}
	s.rest("web", long(3))
	s.remove(pods[41:])
	s.replicas("web", 0, bound)
	for _, w := range s.writes.list() {
		if w != "patch deployments.apps/scale "+s.ns+"/web" && !strings.Contains(w, "/fresh-") {
			t.Errorf("podscaler wrote %q", w)
		}
	}
}

// Eight writers make and delete Pods at random. Then the number becomes right.
func TestChurn(t *testing.T) {
	s := start(t, time.Minute)
	s.scaled("web", myapp)
	const most = 1000
	g, _ := run.New(t.Context())
	for w := range 8 {
		g.Go("writer", func(ctx context.Context) error {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			var mine []*corev1.Pod
			for n := range long(300) {
				if len(mine) < most/8 && r.IntN(len(mine)+2) < most/16 {
					p, err := client.Create(ctx, s.c, &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: fmt.Sprintf("p%d-%d", w, n), Labels: map[string]string{"app": "myapp"}},
						Spec:       podSpec(),
					})
					if err != nil {
						return err
					}
					mine = append(mine, p)
					continue
				}
				i := r.IntN(len(mine))
				if err := client.Delete(ctx, s.c, mine[i]); err != nil {
					return err
				}
				mine[i] = mine[len(mine)-1]
				mine = mine[:len(mine)-1]
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	pods := s.counted("web")
	s.replicas("web", int32((pods+9)/10), bound)
	t.Logf("%d Pods; %d writes", pods, len(s.writes.list()))
	s.caughtUp("web") // it may have been right by chance, on the way
	s.replicas("web", int32((pods+9)/10), bound)
	s.rest("web", 0)
	s.replicas("web", int32((pods+9)/10), bound)
}

// Whose Pods count depends on who opted in, at any time.
func TestNeighbours(t *testing.T) {
	s := start(t, time.Minute)
	each := map[string]string{Selector: "app=myapp", PodsPerReplica: "1"}
	s.scaled("web", each)
	s.replicas("web", 0, bound)
	s.scaled("other", nil) // one replica, which carries app=myapp
	s.replicas("web", 1, bound)

	// It opts in: its Pods do not count any more, not even for itself.
	s.annotate("other", map[string]any{Selector: "tier=x", MinReplicas: "3", PodsPerReplica: "2"})
	s.replicas("other", 3, bound)
	s.replicas("web", 0, bound)
	// A bad annotation leaves it opted in.
	s.annotate("other", map[string]any{MinReplicas: "three"})
	s.pods(3, "app", "myapp")
	s.replicas("web", 3, bound)
	// It opts out, and its three Pods count.
	s.annotate("other", map[string]any{Selector: nil})
	s.replicas("web", 6, bound)
	// Scaled by hand, as it is nobody's.
	if err := client.SetScale(t.Context(), s.c, deployment(s.ns, "other"), 1); err != nil {
		t.Fatal(err)
	}
	s.replicas("web", 4, bound)

	// Two that select the same Pods both get replicas for them.
	s.scaled("twin", each)
	s.replicas("twin", 4, bound)
	s.replicas("web", 4, bound)
	// One goes; its Pods have never counted.
	if err := client.Delete(t.Context(), s.c, deployment(s.ns, "other")); err != nil {
		t.Fatal(err)
	}
	s.replicas("twin", 3, bound)
	s.replicas("web", 3, bound)
	s.rest("web", 0)
}

// A Pod that changes its label leaves one count and joins another.
func TestRelabel(t *testing.T) {
	s := start(t, time.Minute)
	s.scaled("a", map[string]string{Selector: "team=a", PodsPerReplica: "1"})
	s.scaled("b", map[string]string{Selector: "team=b", PodsPerReplica: "1", MaxReplicas: "2"})
	pods := s.pods(4, "team", "a")
	s.replicas("a", 4, bound)
	s.replicas("b", 0, bound)
	toB := client.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{"team": "b"}}})
	s.each(3, func(i int) error {
		_, err := client.Patch(t.Context(), s.c, pods[i], toB)
		return err
	})
	s.replicas("a", 1, bound)
	s.replicas("b", 2, bound)
	s.annotate("b", map[string]any{MaxReplicas: nil})
	s.replicas("b", 3, bound)
}

// By hand scaled away, a Deployment comes back at once.
func TestOthersScale(t *testing.T) {
	s := start(t, time.Minute)
	s.scaled("web", map[string]string{Selector: "app=myapp", MinReplicas: "2"})
	s.replicas("web", 2, bound)
	if err := client.SetScale(t.Context(), s.c, deployment(s.ns, "web"), 7); err != nil {
		t.Fatal(err)
	}
	s.replicas("web", 2, bound)
}

// A bad annotation: one Warning, which names it and its value; nothing is scaled, and nothing
// tried, until it changes.
func TestBadAnnotation(t *testing.T) {
	s := start(t, time.Second)
	bad := s.scaled("bad", map[string]string{Selector: "app=myapp", PodsPerReplica: "ten"})
	var event *eventsv1.Event
	if !sampletest.Eventually(t, s.c, bound, s.ns, "", func(e *eventsv1.Event) bool {
		event = e
		return e.Regarding.UID == bad.UID && e.Reason == "BadAnnotation"
	}) {
		t.Fatal("no event")
	}
	if event.Type != "Warning" || !strings.Contains(event.Note, PodsPerReplica+`="ten"`) || event.Regarding.Kind != "Deployment" || event.ReportingController != "podscaler" {
		t.Errorf("event %+v", event)
	}

	// What happens to Pods and to others in the namespace does not bring it back.
	s.scaled("good", map[string]string{Selector: "app=myapp", PodsPerReplica: "1"})
	s.pods(3, "app", "myapp")
	s.replicas("good", 3, bound)
	tries := 0
	for _, r := range s.rest("good", long(3)) {
		if r == object.KeyOf(bad) {
			tries++
		}
	}
	if tries != 1 {
		t.Errorf("looked at %d times, want once", tries)
	}
	s.replicas("bad", 1, bound)

	s.annotate("bad", map[string]any{PodsPerReplica: "2"})
	s.replicas("bad", 2, bound)
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
