package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/flyball-io/flyball"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
	"github.com/flyball-io/flyball/examples/podscaler/scaler"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/store"
)

// watcher turns events of podscaler and the cluster into lines, and records them on the board.
type watcher struct {
	screen *screen
	board  *board
	wrote  atomic.Bool // since the last reconcile; there is one worker
}

// subscribe joins the watches of the manager. closeAll leaves them.
func (w *watcher) subscribe(ctx context.Context, mgr *flyball.Manager) (closeAll func(), err error) {
	var subs []controller.Subscription
	closeAll = func() {
		for _, s := range subs {
			s.Close()
		}
	}
	for _, kind := range []struct {
		proto object.Object
		f     func(store.Change)
	}{
		{&appsv1.Deployment{}, w.deployment},
		{&appsv1.ReplicaSet{}, w.replicaSet},
		{&corev1.Pod{}, w.pod},
		{&eventsv1.Event{}, w.event},
	} {
		s, err := mgr.Subscribe(ctx, kind.proto, "demo", kind.f)
		if err != nil {
			closeAll()
			return nil, err
		}
		subs = append(subs, s)
	}
	return closeAll, nil
}

// action returns the kind of a change.
func action(c store.Change) string {
	switch {
	case c.New == nil:
		return "deleted"
	case c.Old == nil:
		return "added"
	}
	return "updated"
}

func decoded[T any, P object.Ptr[T]](e *store.Entry) P {
	p := P(new(T))
	if e == nil || e.Decode(p) != nil {
		return nil
	}
	return p
}

func (w *watcher) deployment(c store.Change) {
	old, now := decoded[appsv1.Deployment](c.Old), decoded[appsv1.Deployment](c.New)
	l := Line{Kind: Event, Object: "deployment/" + c.Key.Name, Action: action(c)}
	switch {
	case now == nil:
	case old == nil:
		l.Text = fmt.Sprintf("replicas %d", wanted(now))
	default:
		l.Text = strings.Join(differences(old, now), ", ")
		l.minor = wanted(old) == wanted(now)
	}
	w.screen.show(l)
	w.board.change(func(s *state) {
		s.version(c)
		s.deployment = now
	})
}

// differences returns the differences that interest a person.
func differences(old, now *appsv1.Deployment) (out []string) {
	if a, b := wanted(old), wanted(now); a != b {
		out = append(out, fmt.Sprintf("replicas %d → %d", a, b))
	}
	for _, name := range []string{scaler.Selector, scaler.PodsPerReplica, scaler.MinReplicas, scaler.MaxReplicas} {
		if a, b := old.Annotations[name], now.Annotations[name]; a != b {
			out = append(out, fmt.Sprintf("%s %q → %q", name[strings.IndexByte(name, '/')+1:], a, b))
		}
	}
	if a, b := old.Status.ReadyReplicas, now.Status.ReadyReplicas; a != b || len(out) == 0 {
		out = append(out, fmt.Sprintf("%d of %d ready", b, now.Status.Replicas))
	}
	return out
}

// replicaSet shows the facts that podscaler reads: the existence and the owner of a ReplicaSet.
func (w *watcher) replicaSet(c store.Change) {
	if c.Old == nil || c.New == nil {
		w.screen.show(Line{Kind: Event, Object: "replicaset/" + c.Key.Name, Action: action(c), minor: true})
	}
}

func (w *watcher) pod(c store.Change) {
	old, now := decoded[corev1.Pod](c.Old), decoded[corev1.Pod](c.New)
	last := now
	if last == nil {
		last = old
	}
	own := last != nil && last.Labels[roleLabel] == "replica"
	l := Line{Kind: Event, Object: "pod/" + c.Key.Name, Action: action(c), minor: own}
	switch {
	case now == nil:
	case old == nil:
		l.Text = string(now.Status.Phase)
	case old.DeletionTimestamp == nil && now.DeletionTimestamp != nil:
		l.Text = "is to go"
	case old.Status.Phase != now.Status.Phase:
		l.Text = fmt.Sprintf("%s → %s", old.Status.Phase, now.Status.Phase)
	case old.Spec.NodeName != now.Spec.NodeName:
		l.Text = "goes to " + now.Spec.NodeName
	default:
		l.Text = string(now.Status.Phase)
	}
	if own {
		l.Text = strings.TrimPrefix(l.Text+" (a replica)", " ")
	}
	w.screen.show(l)
	w.board.change(func(s *state) {
		s.version(c)
		if own && now != nil {
			s.own[c.Key.Name] = true
		} else {
			delete(s.own, c.Key.Name)
		}
	})
}

// version takes the resource version of a changed object.
func (s *state) version(c store.Change) {
	if c.Old != nil {
		delete(s.versions, c.Old.Header().UID)
	}
	if c.New != nil {
		s.versions[c.New.Header().UID] = c.New.Header().ResourceVersion
	}
}

// event shows the Kubernetes Events of podscaler.
func (w *watcher) event(c store.Change) {
	e := decoded[eventsv1.Event](c.New)
	if e == nil || e.ReportingController != name {
		return
	}
	w.screen.show(Line{
		Kind: Event, Object: "event/" + e.Reason, Action: action(c),
		Text: fmt.Sprintf("%s on %s/%s: %s", e.Type, strings.ToLower(e.Regarding.Kind), e.Regarding.Name, e.Note),
	})
	if c.Old == nil {
		w.board.change(func(s *state) { s.warnings = append(s.warnings, e.Note) })
	}
}

// reconciled shows a finished reconcile.
func (w *watcher) reconciled(r controller.Reconciled) {
	l := Line{Kind: Reconcile, Action: r.Outcome.String(), Took: millis(r.Took)}
	if key, ok := r.Request.(reconcile.Request); ok {
		l.Object = "deployment/" + key.Name
	}
	l.Cause = &Cause{Trigger: r.Cause.Trigger.String(), Count: r.Cause.Count}
	if r.Cause.Key.Name != "" {
		l.Cause.Object = strings.ToLower(r.Cause.Kind.Kind) + "/" + r.Cause.Key.Name
	}
	did := "wrote"
	switch wrote := w.wrote.Swap(false); {
	case r.Err != nil:
		l.Error = r.Err.Error()
		did = "failed: " + l.Error
	case !wrote:
		did, l.minor = "nothing to do", true
	}
	l.Text = fmt.Sprintf("%s: %s, %.1fms", because(*l.Cause), did, l.Took)
	w.screen.show(l)
}

// because returns a cause in words.
func because(c Cause) string {
	text := map[string]string{
		"listed":   c.Object + " was there",
		"created":  c.Object + " was added",
		"updated":  c.Object + " changed",
		"deleted":  c.Object + " went",
		"retried":  "tried again",
		"requeued": "a full re-check",
	}[c.Trigger]
	if text == "" {
		text = c.Trigger
	}
	if c.Count > 1 {
		text += fmt.Sprintf(" (and %d more)", c.Count-1)
	}
	return text
}

// requested shows a request of podscaler that changes something. It is the hook of its client.
func (w *watcher) requested(d client.Done) {
	if d.Kind == "" || slices.Contains([]string{"get", "list", "watch"}, d.Verb) {
		return
	}
	l := Line{
		Kind: Write, Object: strings.ToLower(d.Kind) + "/" + d.Key.Name,
		Action: d.Verb, Code: d.Code, Took: millis(d.Duration),
	}
	resource := d.Resource.Resource
	if d.Subresource != "" {
		resource += "/" + d.Subresource
	}
	l.Text = fmt.Sprintf("%s: %d, %.1fms", resource, l.Code, l.Took)
	if d.Key.Name == "" { // the server chooses it
		l.Object = strings.ToLower(d.Kind)
	}
	if d.Err != nil {
		l.Error = d.Err.Error()
		l.Text += ": " + l.Error
	}
	w.screen.show(l)
	if d.Kind != "Event" {
		w.wrote.Store(true)
		w.board.change(func(s *state) { s.writes++ })
	}
}
