package event

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
	"github.com/flyball-io/flyball/scheme"
)

var errEnough = errors.New("enough")

// server is a Writer that stores events as an API server does. answer, if set, returns the error of
// the n-th request. It may block.
type server struct {
	answer func(ctx context.Context, n int, op client.Op) error

	mu       sync.Mutex
	requests int
	events   map[object.Key]*eventsv1.Event
}

func (s *server) Write(ctx context.Context, op client.Op) (object.Object, error) {
	s.mu.Lock()
	s.requests++
	n := s.requests
	s.mu.Unlock()
	if s.answer != nil {
		if err := s.answer(ctx, n, op); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in := op.Object.(*eventsv1.Event)
	key := object.KeyOf(in)
	resource := schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	switch op.Verb {
	case "create":
		if s.events[key] != nil {
			return nil, apierrors.NewAlreadyExists(resource, in.Name)
		}
		if s.events == nil {
			s.events = map[object.Key]*eventsv1.Event{}
		}
		s.events[key] = in.DeepCopy()
	case "patch":
		have := s.events[key]
		if have == nil {
			return nil, apierrors.NewNotFound(resource, in.Name)
		}
		if err := json.Unmarshal(op.Patch.Bytes(), have); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unexpected %s", op.Verb)
	}
	return s.events[key].DeepCopy(), nil
}

func (s *server) list() []*eventsv1.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*eventsv1.Event
	for _, e := range s.events {
		out = append(out, e.DeepCopy())
	}
	return out
}

func count(e *eventsv1.Event) int {
	if e.Series == nil {
		return 1
	}
	return int(e.Series.Count)
}

func running(t *testing.T, w client.Writer, o Options) (*Recorder, func()) {
	t.Helper()
	o.Controller = "example.com/scaler"
	o.Scheme = scheme.New()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, func() {
		t.Helper()
		cancel(errEnough)
		if err := <-done; err != errEnough {
			t.Errorf("Run: %v", err)
		}
	}
}

func pod(name string) *corev1.Pod {
	return testobj.Pod("ns/"+name, testobj.UID("u-1"), testobj.Version("7"))
}

func TestEventArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		r, stop := running(t, &s, Options{Instance: "scaler-0"})
		defer stop()
		r.EventWith(pod("web"), testobj.Node("n1"), Warning, "Failed", "Scale", "want %d", 3)
		r.Event(testobj.Node("n1"), Normal, "Seen", "", "100%")
		synctest.Wait()
		events := s.list()
		if len(events) != 2 {
			t.Fatalf("%d events", len(events))
		}
		for _, e := range events {
			switch e.Regarding.Kind {
			case "Pod":
				want := corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "ns", Name: "web", UID: "u-1", ResourceVersion: "7"}
				if e.Regarding != want || e.Namespace != "ns" || e.Related == nil || e.Related.Name != "n1" {
					t.Errorf("%+v", e)
				}
				if e.Type != "Warning" || e.Reason != "Failed" || e.Action != "Scale" || e.Note != "want 3" || e.Series != nil {
					t.Errorf("%+v", e)
				}
				if e.ReportingController != "example.com/scaler" || e.ReportingInstance != "scaler-0" || !e.EventTime.Time.Equal(time.Now()) {
					t.Errorf("%+v", e)
				}
			case "Node":
				if e.Namespace != "default" || e.Regarding.Namespace != "" || e.Action != "Seen" || e.Note != "100%" {
					t.Errorf("%+v", e)
				}
			default:
				t.Errorf("%+v", e)
			}
		}
	})
}

func TestRepeatsAreOneSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		r, stop := running(t, &s, Options{})
		for range 600 {
			r.Event(pod("web"), Warning, "Failed", "Scale", "again")
			time.Sleep(100 * time.Millisecond)
		}
		stop()
		events := s.list()
		if len(events) != 1 || count(events[0]) != 600 {
			t.Fatalf("%+v", events)
		}
		if s.requests > 6 {
			t.Errorf("%d requests", s.requests)
		}
		if st := r.Stats(); st.Sent != 600 || st.Dropped != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A server that hangs blocks no caller, and costs a bounded number of events.
func TestHangingServerBlocksNoCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ int, _ client.Op) error {
			<-ctx.Done()
			return ctx.Err()
		}
		s := server{answer: hang}
		r, stop := running(t, &s, Options{Limits: Limits{Queue: 100}})
		start := time.Now()
		for i := range 10_000 {
			r.Event(pod(fmt.Sprint(i)), Normal, "Scaled", "Scale", "")
			synctest.Wait()
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("recording took %v", d)
		}
		if st := r.Stats(); st.Unsent != 101 || st.Dropped != 10_000-101 {
			t.Errorf("%+v", st)
		}
		start = time.Now()
		stop()
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("stopping took %v", d)
		}
		r.Event(pod("late"), Normal, "Scaled", "Scale", "")
		if st := r.Stats(); st.Unsent != 0 || st.Recorded != 10_001 || st.Dropped != 10_001 {
			t.Errorf("%+v", st)
		}
	})
}

func TestStopFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{answer: func(_ context.Context, n int, _ client.Op) error {
			time.Sleep(10 * time.Millisecond)
			return nil
		}}
		r, stop := running(t, &s, Options{Limits: Limits{Rate: 1, Burst: 1}})
		for i := range 50 {
			r.Event(pod(fmt.Sprint(i)), Normal, "Scaled", "Scale", "")
			r.Event(pod(fmt.Sprint(i)), Normal, "Scaled", "Scale", "")
		}
		stop()
		total := 0
		for _, e := range s.list() {
			total += count(e)
		}
		if total != 100 {
			t.Errorf("%d of 100 arrived: %+v", total, r.Stats())
		}
	})
}

// The limits also hold in a second Run.
func TestLimitsHoldInASecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		r, stop := running(t, &s, Options{Limits: Limits{Rate: 1, Burst: 5}})
		stop()
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		for i := range 50 {
			r.Event(pod(fmt.Sprint(i)), Normal, "Scaled", "Scale", "")
		}
		synctest.Wait()
		if n := len(s.list()); n != 5 {
			t.Errorf("%d at once", n)
		}
		cancel(errEnough)
		if err := <-done; err != errEnough || len(s.list()) != 50 {
			t.Errorf("Run: %v, %d arrived", err, len(s.list()))
		}
	})
}

func TestServerAwayThenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(time.Minute)
		s := server{answer: func(_ context.Context, n int, op client.Op) error {
			if time.Now().Before(back) {
				return errors.New("connection refused")
			}
			return nil
		}}
		r, stop := running(t, &s, Options{})
		defer stop()
		for i := range 20 {
			r.Event(pod(fmt.Sprint(i)), Normal, "Scaled", "Scale", "")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(s.list()); n != 20 {
			t.Errorf("%d events: %+v", n, r.Stats())
		}
		if s.requests > 20+12 {
			t.Errorf("%d requests", s.requests)
		}
	})
}

// The answer to a create is lost. The create is tried again and counts once.
func TestLostAnswerCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		lost := lostAnswers{&s}
		r, stop := running(t, lost, Options{})
		defer stop()
		r.Event(pod("web"), Normal, "Scaled", "Scale", "")
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := r.Stats(); st.Sent != 1 || len(s.list()) != 1 {
			t.Errorf("%+v, %d events", st, len(s.list()))
		}
	})
}

type lostAnswers struct{ s *server }

func (l lostAnswers) Write(ctx context.Context, op client.Op) (object.Object, error) {
	o, err := l.s.Write(ctx, op)
	if err == nil {
		return nil, errors.New("connection reset")
	}
	return o, err
}

func TestEventExpiredOnTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s server
		r, stop := running(t, &s, Options{})
		defer stop()
		r.Event(pod("web"), Normal, "Scaled", "Scale", "")
		synctest.Wait()
		s.mu.Lock()
		clear(s.events)
		s.mu.Unlock()
		r.Event(pod("web"), Normal, "Scaled", "Scale", "")
		synctest.Wait()
		if events := s.list(); len(events) != 1 || count(events[0]) != 1 {
			t.Errorf("%+v", events)
		}
	})
}

func TestRejectionIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server{answer: func(context.Context, int, client.Op) error {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "no"}}
		}}
		var text bytes.Buffer
		r, stop := running(t, &s, Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
		for i := range 50 {
			r.Event(pod(fmt.Sprint(i)), Normal, "Scaled", "Scale", "")
		}
		synctest.Wait()
		stop()
		if n := strings.Count(text.String(), "\n"); n != 1 || !strings.Contains(text.String(), "Forbidden") {
			t.Errorf("%d lines:\n%s", n, text.String())
		}
		if st := r.Stats(); st.Dropped != 50 {
			t.Errorf("%+v", st)
		}
	})
}

func TestNewNamesTheBadOption(t *testing.T) {
	for _, test := range []struct {
		w    client.Writer
		o    Options
		want string
	}{
		{nil, Options{Controller: "x"}, "writer"},
		{&server{}, Options{}, "Controller"},
		{&server{}, Options{Controller: "a b"}, "Controller"},
		{&server{}, Options{Controller: strings.Repeat("a.", 60) + "io/" + strings.Repeat("x", 60)}, "Controller"},
	} {
		if _, err := New(test.w, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v does not name %s", err, test.want)
		}
	}
	r, err := New(&server{}, Options{Controller: "scaler", Instance: strings.Repeat("x", 200)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.o.Instance) > 128 {
		t.Errorf("instance of %d bytes", len(r.o.Instance))
	}
	var none *corev1.Pod
	if ref := r.Ref(none); ref != (corev1.ObjectReference{}) {
		t.Errorf("%+v", ref)
	}
	if ref := r.Ref(pod("web")); ref.Kind != "Pod" || ref.Name != "web" {
		t.Errorf("without a scheme: %+v", ref)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if err := r.Run(ctx); err != errEnough {
		t.Errorf("Run under an ended ctx: %v", err)
	}
	if err := r.Run(ctx); err != errEnough {
		t.Errorf("Run again: %v", err)
	}
	r.runs.Store(true)
	if err := r.Run(ctx); !errors.Is(err, run.ErrRunning) {
		t.Errorf("Run beside Run: %v", err)
	}
}
