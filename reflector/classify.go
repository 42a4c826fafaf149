package reflector

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/wire"
)

// cause is what an error means for the Core.
type cause uint8

const (
	broken     cause = iota // the connection, or anything unknown
	server                  // the server answered that it cannot, now
	busy                    // 429
	expired                 // 410
	unreadable              // the server cannot read an object from its own storage
	tooLarge                // the version is newer than the server
	forbidden               // 403
	notFound                // 404 or 405, or no resource of the server serves the kind
	refused                 // the request is wrong in the eyes of the server
	garbage                 // what came cannot be read
	stranger                // the answer is not that of an API server: a page, a redirect
)

// classify says what an error means, and how long the server asks to wait.
func classify(err error) (cause, time.Duration) {
	if err == nil {
		return broken, 0
	}
	if meta.IsNoMatchError(err) {
		return notFound, 0
	}
	if is[*wire.ContentTypeError](err) {
		return stranger, 0
	}
	s, ok := statusOf(err)
	if !ok {
		return classifyRead(err), 0
	}
	wait, _ := client.RetryAfter(err)
	if s.Details != nil && wait == 0 {
		wait = min(time.Duration(max(s.Details.RetryAfterSeconds, 0))*time.Second, maxAsked)
	}
	switch {
	case s.Code == http.StatusGone || s.Reason == metav1.StatusReasonExpired || s.Reason == metav1.StatusReasonGone:
		return expired, 0
	case s.Reason == metav1.StatusReasonStoreReadError:
		return unreadable, wait
	case client.IsTooLarge(err):
		return tooLarge, wait
	case s.Code == http.StatusTooManyRequests || s.Reason == metav1.StatusReasonTooManyRequests:
		return busy, wait
	case s.Code == http.StatusForbidden || s.Reason == metav1.StatusReasonForbidden:
		return forbidden, 0
	case s.Code == http.StatusNotFound || s.Reason == metav1.StatusReasonNotFound,
		s.Code == http.StatusMethodNotAllowed || s.Reason == metav1.StatusReasonMethodNotAllowed:
		return notFound, 0
	case s.Code >= 300 && s.Code < 500 && is[*client.ResponseError](err):
		return stranger, wait
	case s.Code == http.StatusUnauthorized || s.Code == http.StatusRequestTimeout:
		return server, wait
	case s.Code >= 400 && s.Code < 500:
		return refused, wait
	case s.Code >= 500 && !cut(err):
		return server, wait
	}
	return classifyRead(err), wait
}

// statusOf is the Status in an error: of a request, of an ERROR frame, or in place of a list.
func statusOf(err error) (metav1.Status, bool) {
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		return api.Status(), true
	}
	if e, ok := errors.AsType[*wire.StatusError](err); ok {
		return e.Status, true
	}
	return metav1.Status{}, false
}

// cut reports that no server said so: no connection could be made, or it broke. A stream that
// breaks says nothing about its version, however often it does.
func cut(err error) bool {
	if e, ok := errors.AsType[*client.UnavailableError](err); ok {
		return e.Unsent || e.Unwrap() != nil
	}
	e, ok := errors.AsType[*client.TimeoutError](err)
	return ok && e.Unwrap() != nil
}

// classifyRead tells what cannot be read from what was cut.
func classifyRead(err error) cause {
	if is[*wire.SyntaxError](err) || is[*wire.KindError](err) || is[*wire.EventTypeError](err) ||
		is[*wire.TooLargeError](err) || is[*wire.DecodeError](err) {
		return garbage
	}
	return broken
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
