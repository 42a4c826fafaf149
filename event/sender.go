package event

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
)

// sender is the loop of Run.
type sender struct {
	r      *Recorder
	logged map[string]bool // reasons of rejections that were logged
}

// run sends ready events until ctx ends or, unless forMore, until no event waits.
func (s *sender) run(ctx context.Context, forMore bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		s.r.mu.Lock()
		next, ok, wait := s.r.core.Next(time.Now())
		idle := s.r.core.Stats().Waiting == 0
		s.r.mu.Unlock()
		if ok {
			outcome, atLeast := s.send(ctx, &next)
			s.r.mu.Lock()
			s.r.core.Report(time.Now(), rand.Float64(), outcome, atLeast)
			s.r.mu.Unlock()
			continue
		}
		if idle && !forMore {
			return
		}
		var tick <-chan time.Time
		if wait > 0 {
			timer.Reset(wait)
			tick = timer.C
		}
		select {
		case <-ctx.Done():
		case <-tick:
		case <-s.r.wake:
		}
	}
}

func (s *sender) send(ctx context.Context, next *Series) (Outcome, time.Duration) {
	call, cancel := context.WithTimeout(ctx, s.r.o.Timeout)
	defer cancel()
	var err error
	if next.Created() {
		patch := client.MergePatch(map[string]any{"series": series(next)})
		_, err = client.Patch(call, s.r.w, s.stub(next), patch)
	} else {
		_, err = client.Create(call, s.r.w, s.object(next))
	}
	return s.classify(ctx, next, err)
}

// classify maps the error of a request to an Outcome and the wait that the server asks for.
func (s *sender) classify(ctx context.Context, next *Series, err error) (Outcome, time.Duration) {
	switch {
	case err == nil:
		return Done, 0
	case ctx.Err() != nil:
		return Again, 0
	case !next.Created() && apierrors.IsAlreadyExists(err):
		if next.Retried() {
			return Done, 0 // the attempt before has succeeded after all
		}
		return Missing, 0
	case next.Created() && apierrors.IsNotFound(err):
		return Missing, 0 // the server keeps events for a short time only
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || temporary(status.Status().Code) {
		after, _ := client.RetryAfter(err)
		return Again, after
	}
	reason := string(status.Status().Reason)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return Drop, 0 // not worth a log line: nobody can act on it
	}
	if !s.logged[reason] {
		s.logged[reason] = true
		s.r.o.Logger.Warn("the server rejects events; they are dropped", "reason", reason, "object", next.Event.Regarding.Name, "err", err)
	}
	return Drop, 0
}

// temporary reports whether a status code is of a temporary failure.
func temporary(code int32) bool {
	return code >= 500 || code == 0 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout ||
		code == http.StatusUnauthorized || code == http.StatusConflict
}

// stub returns the object of an event with only its namespace and name.
func (s *sender) stub(next *Series) *eventsv1.Event {
	namespace := next.Event.Regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: next.Name}}
}

func (s *sender) object(next *Series) *eventsv1.Event {
	e := s.stub(next)
	e.EventTime = metav1.NewMicroTime(next.First)
	e.ReportingController, e.ReportingInstance = s.r.o.Controller, s.r.o.Instance
	e.Action, e.Reason = next.Event.Action, next.Event.Reason
	e.Type, e.Note = string(next.Event.Type), next.Event.Note
	e.Regarding, e.Related = next.Event.Regarding, next.Event.Related
	if next.Count > 1 {
		e.Series = series(next)
	}
	return e
}

func series(s *Series) *eventsv1.EventSeries {
	return &eventsv1.EventSeries{Count: int32(min(s.Count, 1<<30)), LastObservedTime: metav1.NewMicroTime(s.Last)}
}
