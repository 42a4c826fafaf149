package reflector

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/wire"
)

// cause is what an error means for the core.
type cause uint8

const (
	broken      cause = iota // the connection broke, or the error is unknown
	server                   // the server cannot answer at present
	busy                     // 429
	expired                  // 410
	unreadable               // the server cannot read an object from its storage
	tooLarge                 // the version is newer than the server's
	forbidden                // 403
	notFound                 // 404 or 405, or discovery does not know the kind
	refused                  // the server rejects the request as wrong
	garbage                  // the answer cannot be read
	notAPI                   // the answer is not an API server's: a web page, a redirect
	unwatchable              // the lists of the kind have no version
)

// classify returns what an error means, and the wait that the server asks for.
func classify(err error) (cause, time.Duration) {
	if err == nil {
		return broken, 0
	}
	if meta.IsNoMatchError(err) {
		return notFound, 0
	}
	if is[*wire.ContentTypeError](err) {
		return notAPI, 0
	}
	if errors.Is(err, ErrNoVersion) {
		return unwatchable, 0
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
	case isTooLarge(s):
		return tooLarge, wait
	case s.Code == http.StatusTooManyRequests || s.Reason == metav1.StatusReasonTooManyRequests:
		return busy, wait
	case s.Code == http.StatusForbidden || s.Reason == metav1.StatusReasonForbidden:
		return forbidden, 0
	case s.Code == http.StatusNotFound || s.Reason == metav1.StatusReasonNotFound,
		s.Code == http.StatusMethodNotAllowed || s.Reason == metav1.StatusReasonMethodNotAllowed:
		return notFound, 0
	case s.Code >= 300 && s.Code < 500 && is[*client.ResponseError](err):
		return notAPI, wait
	case s.Code == http.StatusUnauthorized || s.Code == http.StatusRequestTimeout:
		return server, wait
	case s.Code >= 400 && s.Code < 500:
		return refused, wait
	case s.Code >= 500 && !cut(err):
		return server, wait
	}
	return classifyRead(err), wait
}

// statusOf returns the Status in an error: of a request, of an ERROR frame, or in place of a list.
func statusOf(err error) (metav1.Status, bool) {
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		return api.Status(), true
	}
	if e, ok := errors.AsType[*wire.StatusError](err); ok {
		return e.Status, true
	}
	return metav1.Status{}, false
}

// isTooLarge reports whether the server has not yet seen the resourceVersion. Servers send a cause with a type,
// older ones a cause with a message, and the oldest a Status with a message.
func isTooLarge(s metav1.Status) bool {
	const text = "Too large resource version"
	if s.Reason != metav1.StatusReasonTimeout && s.Code != http.StatusGatewayTimeout {
		return false
	}
	return strings.Contains(s.Message, text) || s.Details != nil && slices.ContainsFunc(s.Details.Causes, func(c metav1.StatusCause) bool {
		return c.Type == metav1.CauseTypeResourceVersionTooLarge || c.Message == text
	})
}

// cut reports whether the connection failed or broke: no server sent the error. Such an error says nothing
// about the version of a stream.
func cut(err error) bool {
	if e, ok := errors.AsType[*client.UnavailableError](err); ok {
		return e.Unsent || e.Unwrap() != nil
	}
	e, ok := errors.AsType[*client.TimeoutError](err)
	return ok && e.Unwrap() != nil
}

// classifyRead returns garbage for unreadable bytes, else broken.
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
