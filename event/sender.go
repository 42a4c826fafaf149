package event

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// send sends ready events until ctx ends or, unless forMore, until no event waits.
func (r *Recorder) send(ctx context.Context, forMore bool) {
	for ctx.Err() == nil {
		out, waiting := r.step(input{kind: tick})
		if out.send != nil {
			r.step(r.request(ctx, out.send))
			continue
		}
		if waiting == 0 && !forMore {
			return
		}
		var due <-chan time.Time
		if !out.until.IsZero() {
			due = time.After(time.Until(out.until))
		}
		select {
		case <-ctx.Done():
		case <-due:
		case <-r.wake:
		}
	}
}

// request creates or updates an event, and returns the answer.
func (r *Recorder) request(ctx context.Context, s *series) input {
	call, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	var err error
	if s.created() {
		patch := client.MergePatch(map[string]any{"series": countOf(s)})
		_, err = client.Patch(call, r.w, stub(s), patch)
	} else {
		_, err = client.Create(call, r.w, r.object(s))
	}
	in := input{kind: answered, outcome: r.classify(ctx, s, err)}
	if in.outcome == failed {
		in.after, _ = client.RetryAfter(err)
	}
	return in
}

// classify returns the outcome of a request.
func (r *Recorder) classify(ctx context.Context, s *series, err error) outcome {
	status := apierrors.APIStatus(nil)
	_, nowhere := errors.AsType[*client.MissingError](err)
	switch {
	case err == nil:
		return done
	case ctx.Err() != nil:
		return failed
	case !s.created() && apierrors.IsAlreadyExists(err):
		if s.attempts > 0 {
			return done // the attempt before has succeeded after all
		}
		return missing
	case s.created() && apierrors.IsNotFound(err):
		return missing // the server keeps events for a short time only
	case nowhere:
		return drop // the namespace has gone, and the object with it
	case !errors.As(err, &status) || temporary(status.Status().Code):
		return failed
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return drop // not worth a log line: nobody can act on it
	}
	if reason := string(status.Status().Reason); !r.logged[reason] {
		r.logged[reason] = true
		r.o.Logger.Warn("the server rejects events; they are dropped", "reason", reason, "object", object.Key{Namespace: s.event.Regarding.Namespace, Name: s.event.Regarding.Name}.String(), "err", err)
	}
	return drop
}

// temporary reports whether a status code is of a temporary failure.
func temporary(code int32) bool {
	return code >= 500 || code == 0 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout ||
		code == http.StatusUnauthorized || code == http.StatusConflict
}

// stub returns the object of an event with only its namespace and name.
func stub(s *series) *eventsv1.Event {
	namespace := cmp.Or(s.event.Regarding.Namespace, metav1.NamespaceDefault)
	return &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.name}}
}

func (r *Recorder) object(s *series) *eventsv1.Event {
	e := stub(s)
	e.EventTime = metav1.NewMicroTime(s.first)
	e.ReportingController, e.ReportingInstance = r.o.Controller, r.o.Instance
	e.Action, e.Reason = s.event.Action, s.event.Reason
	e.Type, e.Note = string(s.event.Type), s.event.Note
	e.Regarding, e.Related = s.event.Regarding, s.event.Related
	if s.count > 1 {
		e.Series = countOf(s)
	}
	return e
}

func countOf(s *series) *eventsv1.EventSeries {
	return &eventsv1.EventSeries{Count: int32(min(s.count, 1<<30)), LastObservedTime: metav1.NewMicroTime(s.last)}
}
