package event_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { leaktest.Main(servertest.Wrap(m)) }

// failOnLog is a logger that fails the test: no event may be rejected.
type failOnLog struct{ t *testing.T }

func (f failOnLog) Write(p []byte) (int, error) {
	f.t.Errorf("logged: %s", p)
	return len(p), nil
}

// A real API server accepts every recorded event, however odd.
func TestAPIServerAcceptsEveryEvent(t *testing.T) {
	p := servertest.Shared(t)
	ns := servertest.Namespace(t, p)
	c := livetest.Client(t, p, client.Options{})
	rec, err := event.New(c, event.Options{
		Controller: "flyball.dev/test",
		Logger:     slog.New(slog.NewTextHandler(failOnLog{t}, nil)),
		// Send updates of the series while the test waits.
		Limits:       event.Limits{Refresh: time.Millisecond},
		FlushTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- rec.Run(ctx) }()

	pod := testobj.Pod(ns+"/web", testobj.UID("u-1"))
	node := testobj.Node("kwok-0")
	for range 5 {
		rec.Event(pod, event.Warning, "Failed", "Scale", "cannot scale to %d", 3)
	}
	long := strings.Repeat("long and ünicode ", 500)
	rec.EventWith(pod, node, event.Normal, long, long, "%s", long)
	rec.Event(pod, "Odd", "", "", "bad \xff bytes")
	rec.Event(node, event.Normal, "Seen", "See", "")
	odd := pod.DeepCopy()
	odd.Name = "system:odd/" + strings.Repeat("x", 300)
	rec.Event(odd, event.Normal, "Odd", "Look", "a name that is none")
	rec.Event(&corev1.Pod{}, event.Normal, "Nothing", "Look", "no name at all")

	cancel(over)
	if err := <-done; err != over {
		t.Errorf("Run: %v", err)
	}
	if st := rec.Stats(); st.Dropped != 0 || st.Sent != st.Recorded {
		t.Errorf("%+v", st)
	}
	repeats := 0
	for e, err := range client.List[eventsv1.Event](t.Context(), c, client.InNamespace(ns)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Reason == "Failed" && e.Series != nil {
			repeats = int(e.Series.Count)
		}
	}
	if repeats != 5 {
		t.Errorf("the series counts %d", repeats)
	}
}
