package demo

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/internal/managerload"
	"github.com/flyball-io/flyball/run"
)

const (
	deployment = "web"
	visitors   = 12
	finished   = 4                  // of them, the first ones
	roleLabel  = "flyball.dev/role" // "replica" on the Deployment's Pods; visitors have another value

	reaction = 10 * time.Second // timeout for operations that take milliseconds
	starting = 2 * time.Minute  // timeout for Pods that start, in a cluster that runs them
)

// ExpectationError says that an expected event did not happen.
type ExpectationError struct {
	// Expected describes the expectation, and Instead the actual state.
	Expected, Instead string
}

func (e *ExpectationError) Error() string {
	return fmt.Sprintf("expected %s, but %s", e.Expected, e.Instead)
}

// teller tells the story.
type teller struct {
	o      Options
	c      *cluster
	screen *screen
	board  *board
	round  int
	err    error // the first failure; the rest of the story is skipped

	pods int // the visitors that live
	each int // for how many of them there is to be one replica; 0: nobody knows

	figures prometheus.Gatherer // of podscaler
}

// tell tells the story, and repeats it unless once is set.
func (t *teller) tell(ctx context.Context) error {
	for t.round = 1; ; t.round++ {
		t.chapters(ctx)
		if t.err != nil {
			return t.err
		}
		ok := true
		t.screen.show(Line{Kind: Summary, OK: &ok, Text: "All expectations held."})
		if t.o.Once && !t.o.again {
			return errOver
		}
		t.say(ctx, "Once more, from the start. Ctrl-C ends it.")
		if t.o.Once {
			t.do(t.screen.printed(ctx))
			return cmp.Or(t.err, errOver)
		}
		t.pause(ctx, 5)
	}
}

// chapters is the story, from an empty namespace to an empty one.
func (t *teller) chapters(ctx context.Context) {
	t.say(ctx, "A Deployment asks podscaler for one replica for every 5 Pods that carry app=web. There are none.")
	t.deploy(ctx)
	t.expect(ctx, reaction, "0 replicas", replicas(0))
	t.pause(ctx, 3)

	t.say(ctx, "%d Pods come, one after the other: one replica, from the sixth on two, from the eleventh on three.", visitors)
	for n := range visitors {
		t.create(ctx, n)
		t.pause(ctx, 1)
	}
	t.expect(ctx, reaction, "3 replicas", replicas(3))

	t.say(ctx, "The 3 replicas carry app=web, too. They do not count, or there would be ever more of them.")
	t.expect(ctx, starting, "3 replicas that run", func(s *state) bool {
		return replicas(3)(s) && s.deployment.Status.ReadyReplicas == 3 && len(s.own) == 3
	})
	t.idle(ctx, 4)

	t.say(ctx, "4 Pods have done their work. 8 are left.")
	for n := range finished {
		t.finish(ctx, n)
	}
	t.expect(ctx, reaction, "2 replicas", replicas(2))
	t.pause(ctx, 3)

	t.say(ctx, "Somebody scales it to 6 by hand.")
	t.byHand(ctx, 6)
	t.expect(ctx, reaction, "2 replicas again", replicas(2))
	t.pause(ctx, 3)

	t.say(ctx, "A mistake: one replica for every \"many\" Pods. podscaler says so once, and leaves it alone.")
	t.annotate(ctx, "many")
	t.expect(ctx, reaction, "a warning that names the annotation", func(s *state) bool { return len(s.warnings) == t.round })
	t.idle(ctx, 3)

	t.say(ctx, "Mended: one replica for every 3 Pods.")
	t.annotate(ctx, "3")
	t.expect(ctx, reaction, "3 replicas", replicas(3))
	t.pause(ctx, 3)

	t.say(ctx, "All Pods go.")
	for n := range visitors {
		t.remove(ctx, n)
		t.pause(ctx, 0.7)
	}
	t.expect(ctx, reaction, "0 replicas", replicas(0))
	t.expect(ctx, starting, "none of its own Pods left", func(s *state) bool { return len(s.own) == 0 })

	t.say(ctx, "The Deployment goes.")
	t.begin(ctx)
	t.do(client.Delete(ctx, t.c.client, t.target()))
	t.expect(ctx, reaction, "no Deployment", func(s *state) bool { return s.deployment == nil })
	t.pause(ctx, 1)
}

func replicas(n int32) func(*state) bool {
	return func(s *state) bool { return s.deployment != nil && wanted(s.deployment) == n }
}

// begin waits until everything is at rest before a write on a server in memory, and moves its clock.
func (t *teller) begin(ctx context.Context) {
	if t.err == nil && t.c.steady != nil {
		t.rest(ctx)
	}
	if t.err == nil && t.c.steady != nil {
		t.do(t.c.steady.step(ctx))
	}
}

// rest waits until podscaler has seen all that the server has, and has nothing left to do. Otherwise a reconcile that is
// late would see the next write, too, and the reconcile of that one would be one more.
func (t *teller) rest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reaction)
	defer cancel()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for still := 0; t.err == nil && still < 2; {
		t.do(t.c.steady.settle(ctx))
		versions, err := t.versions(ctx)
		t.do(err)
		load, err := managerload.Of(t.figures)
		t.do(err)
		if still++; load.Busy || !t.board.has(versions) {
			still = 0
		}
		select {
		case <-look.C: // no event tells that the last change was not worth a reconcile
		case <-ctx.Done():
			t.do(fmt.Errorf("podscaler does not come to rest: %w", context.Cause(ctx)))
		}
	}
}

// versions returns the resource versions of what podscaler reads, by UID.
func (t *teller) versions(ctx context.Context) (map[types.UID]string, error) {
	out := map[types.UID]string{}
	for d, err := range client.List[appsv1.Deployment](ctx, t.c.client, client.InNamespace(t.c.namespace)) {
		if err != nil {
			return nil, err
		}
		out[d.UID] = d.ResourceVersion
	}
	for pod, err := range client.List[corev1.Pod](ctx, t.c.client, client.InNamespace(t.c.namespace)) {
		if err != nil {
			return nil, err
		}
		out[pod.UID] = pod.ResourceVersion
	}
	return out, nil
}

// reacted waits until podscaler has made of a write what it has to, on a server in memory: all stories there make the same
// writes in the same order. generation is the least that the Deployment must have.
func (t *teller) reacted(ctx context.Context, generation int64) {
	if t.err != nil || t.c.steady == nil || t.each == 0 {
		return
	}
	want := int32((t.pods + t.each - 1) / t.each)
	bound, cancel := context.WithTimeout(ctx, reaction)
	defer cancel()
	_ = t.board.await(bound, func(s *state) bool { // otherwise an expectation fails
		return s.deployment != nil && s.deployment.Generation >= generation && wanted(s.deployment) == want
	})
}

// do stores the first failure.
func (t *teller) do(err error) {
	if t.err == nil {
		t.err = err
	}
}

// say shows the next line, after all earlier ones are printed.
func (t *teller) say(ctx context.Context, format string, args ...any) {
	if t.err != nil {
		return
	}
	t.do(t.screen.printed(ctx))
	t.screen.show(Line{Kind: Story, Text: fmt.Sprintf(format, args...)})
}

// pause waits for a multiple of the pace.
func (t *teller) pause(ctx context.Context, paces float64) {
	if t.err != nil {
		return
	}
	if t.do(run.Sleep(ctx, time.Duration(paces*float64(t.o.Pace)))); t.err == nil {
		t.do(t.screen.printed(ctx))
	}
}

// expect waits until a condition holds.
func (t *teller) expect(ctx context.Context, within time.Duration, what string, ok func(*state) bool) {
	if t.err != nil {
		return
	}
	bound, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	t.judge(ctx, what, t.board.await(bound, ok) == nil)
}

// idle expects that podscaler writes nothing for a multiple of the pace, after its last write has
// been answered.
func (t *teller) idle(ctx context.Context, paces float64) {
	if t.err != nil {
		return
	}
	writes := func() (n int) {
		t.board.change(func(s *state) { n = s.writes })
		return n
	}
	t.pause(ctx, 1)
	before := writes()
	t.pause(ctx, paces)
	if t.err == nil {
		t.judge(ctx, "nothing is written meanwhile", writes() == before)
	}
}

// judge shows whether an expectation held.
func (t *teller) judge(ctx context.Context, what string, held bool) {
	if ctx.Err() != nil {
		t.do(context.Cause(ctx))
		return
	}
	text := what
	if !held {
		e := &ExpectationError{Expected: what, Instead: t.board.text()}
		text = e.Error()
		t.do(e)
	}
	t.screen.show(Line{Kind: Expect, OK: &held, Text: text})
}

func (t *teller) deploy(ctx context.Context) {
	if t.err != nil {
		return
	}
	d := t.target()
	d.Annotations = map[string]string{scaler.Selector: "app=web", scaler.PodsPerReplica: "5"}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{roleLabel: "replica"}}
	d.Spec.Template.Labels = map[string]string{roleLabel: "replica", "app": "web"}
	d.Spec.Template.Spec = t.spec()
	t.begin(ctx)
	_, err := client.Create(ctx, t.c.client, d)
	t.do(err)
	t.pods, t.each = 0, 5
	t.reacted(ctx, 0)
}

func (t *teller) create(ctx context.Context, n int) {
	if t.err != nil {
		return
	}
	p := t.visitor(n)
	p.Labels = map[string]string{"app": "web"}
	p.Spec = t.spec()
	t.begin(ctx)
	_, err := client.Create(ctx, t.c.client, p)
	t.do(err)
	t.pods++
	t.reacted(ctx, 0)
}

func (t *teller) finish(ctx context.Context, n int) {
	if t.err != nil {
		return
	}
	t.begin(ctx)
	_, err := client.PatchStatus(ctx, t.c.client, t.visitor(n), client.MergePatch(map[string]any{"status": map[string]any{"phase": corev1.PodSucceeded}}))
	t.do(err)
	t.pods--
	t.reacted(ctx, 0)
}

func (t *teller) remove(ctx context.Context, n int) {
	if t.err != nil {
		return
	}
	t.begin(ctx)
	t.do(client.Delete(ctx, t.c.client, t.visitor(n)))
	if n >= finished {
		t.pods--
	}
	t.reacted(ctx, 0)
}

// byHand scales, and waits until the change is seen.
func (t *teller) byHand(ctx context.Context, n int32) {
	if t.err != nil {
		return
	}
	t.begin(ctx)
	d, err := client.Patch(ctx, t.c.client, t.target(), client.MergePatch(map[string]any{"spec": map[string]any{"replicas": n}}))
	t.do(err)
	if err == nil {
		t.reacted(ctx, d.Generation)
		t.do(t.board.await(ctx, func(s *state) bool { return s.deployment != nil && s.deployment.Generation >= d.Generation }))
	}
}

func (t *teller) annotate(ctx context.Context, perReplica string) {
	if t.err != nil {
		return
	}
	t.begin(ctx)
	_, err := client.Patch(ctx, t.c.client, t.target(), client.MergePatch(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{scaler.PodsPerReplica: perReplica}},
	}))
	t.do(err)
	t.each, _ = strconv.Atoi(perReplica)
	t.reacted(ctx, 0)
}

func (t *teller) target() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: t.c.namespace, Name: deployment}}
}

func (t *teller) visitor(n int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.c.namespace, Name: fmt.Sprintf("visitor-%02d", n+1)}}
}

// spec returns a Pod that does nothing, ends at once, and is admitted everywhere.
func (t *teller) spec() corev1.PodSpec {
	now, yes, no := int64(0), true, false
	return corev1.PodSpec{
		TerminationGracePeriodSeconds: &now,
		AutomountServiceAccountToken:  &no,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "pause", Image: t.o.Image,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
}
