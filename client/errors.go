package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/paging"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/wire"
)

// ErrNotLive says that a read was to be answered by the server, but the reader is only a cache.
var ErrNotLive = errors.New("the reader has no server to ask")

// ErrEndless is in the error of a list whose pages do not come to an end: a continue token came twice, or
// page after page was empty.
var ErrEndless = paging.ErrEndless

// Call names a request to the server, for errors, hooks and logs.
type Call struct {
	Verb string
	// Resource is empty where the kind could not be mapped to one.
	Resource schema.GroupVersionResource
	// Kind of the objects; empty when the call was made without one.
	Kind string
	// Key is what was asked for: without a name for lists and watches.
	Key         object.Key
	Subresource string
	// Initial is set for a watch that begins with all there is, in place of a list: one that asked
	// for a streaming list.
	Initial bool
}

// String is the call in the words of an error message: "update deployments.apps/scale default/web".
func (c Call) String() string {
	var b strings.Builder
	b.WriteString(c.Verb)
	if r := c.Resource.GroupResource().String(); r != "" {
		b.WriteByte(' ')
		b.WriteString(r)
	} else if c.Kind != "" {
		b.WriteByte(' ')
		b.WriteString(c.Kind)
	}
	if c.Subresource != "" {
		b.WriteByte('/')
		b.WriteString(c.Subresource)
	}
	switch {
	case c.Key.Name != "":
		b.WriteByte(' ')
		b.WriteString(c.Key.String())
	case c.Key.Namespace != "":
		b.WriteString(" in namespace ")
		b.WriteString(c.Key.Namespace)
	}
	return b.String()
}

// RequestError is what all errors of a request have in common: which request, and the Status that the
// server gave, or that stands for what happened to the connection. It is embedded in the types
// for the causes; ask for one of those.
type RequestError struct {
	Call
	status metav1.Status
	cause  error
}

// Status is the failure in the form of the API, for apimachinery's errors.IsNotFound family.
func (f *RequestError) Status() metav1.Status { return f.status }

// Unwrap returns what lies beneath: a network error, a read error; nil when the server answered.
func (f *RequestError) Unwrap() error { return f.cause }

func (f *RequestError) Error() string {
	return fmt.Sprintf("%s: %s", f.Call, f.status.Message)
}

// NotFoundError: there is no object of this name. A kind that the server does not serve is [NotServedError].
type NotFoundError struct{ RequestError }

// AlreadyExistsError: an object of this name exists, so it was not created.
type AlreadyExistsError struct{ RequestError }

// absentVersion is a resourceVersion that no object has. Server-side apply compares the version in its
// body with that of the object, whether it is forced or not, and if there is none creates it all the
// same: so a body with this one never changes an object. See docs/adr/0014-create-or-fail.md.
const absentVersion = "9223372036854775807"

// existed makes of the answer to an apply with IfAbsent that there is an object: a conflict that is
// about it. A quota that is contended, for instance, is another one.
func existed(err error) error {
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || conflict.status.Details == nil || conflict.status.Details.Name != conflict.Key.Name || conflict.status.Details.Kind != conflict.Resource.Resource {
		return err
	}
	s := conflict.status
	s.Reason, s.Message = metav1.StatusReasonAlreadyExists, "there is one already"
	return &AlreadyExistsError{RequestError{Call: conflict.Call, status: s, cause: conflict}}
}

// ConflictError: the object has changed since the resourceVersion that was sent, a precondition does
// not hold, or fields of an apply belong to others. Read again, and decide again.
type ConflictError struct {
	RequestError
	// Fields that others own, for an apply.
	Fields []FieldProblem
}

// InvalidError: the object breaks rules of its kind. Sending it again does not help.
type InvalidError struct {
	RequestError
	// Fields that are wrong, in the order of the server.
	Fields []FieldProblem
}

// FieldProblem is one field that the server objects to.
type FieldProblem struct {
	// Path of the field: "spec.replicas", "spec.containers[0].image". Empty: the whole object.
	Path string
	// Type of the problem: FieldValueRequired, FieldValueInvalid, FieldManagerConflict …
	Type metav1.CauseType
	// Detail for people.
	Detail string
}

// ForbiddenError: the user may not do this. RequestError names verb, resource, namespace and name.
type ForbiddenError struct {
	RequestError
	// User as the server knows it; empty when it does not say.
	User string
}

// UnauthorizedError: the server does not accept the credentials, also not after they were read anew.
type UnauthorizedError struct{ RequestError }

// TooManyRequestsError: the server asks to come back later and has not processed the request; or an
// eviction would break a PodDisruptionBudget.
type TooManyRequestsError struct {
	RequestError
	// RetryAfter is how long to wait: Asked, or [Options.MaxRetryAfter] if that is less.
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero: it did not say.
	Asked time.Duration
}

func (e *TooManyRequestsError) Error() string {
	return e.RequestError.Error() + capped(e.RetryAfter, e.Asked)
}

// capped tells of a wait that is shorter than the server asks for.
func capped(wait, asked time.Duration) string {
	if wait >= asked {
		return ""
	}
	return fmt.Sprintf(" (the server asks to wait %v; the client waits %v)", asked, wait)
}

// GoneError: the resourceVersion, or the continue token, is too old for the server. List again.
type GoneError struct {
	RequestError
	// Continue goes on with the list in an inconsistent way: newer objects follow. Empty: it
	// cannot.
	Continue string
}

// TimeoutError: no answer in time. A write may have been done all the same.
type TimeoutError struct {
	RequestError
	// RetryAfter is how long to wait: Asked, or [Options.MaxRetryAfter] if that is less.
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero: it did not say.
	Asked time.Duration
}

func (e *TimeoutError) Error() string { return e.RequestError.Error() + capped(e.RetryAfter, e.Asked) }

// UnavailableError: the server cannot be reached, or says that it cannot serve now.
type UnavailableError struct {
	RequestError
	// RetryAfter is how long to wait: Asked, or [Options.MaxRetryAfter] if that is less.
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero: it did not say.
	Asked time.Duration
	// Unsent is true when the request cannot have been processed: no connection was made, or the
	// server says so. A write that is not Unsent may have been done.
	Unsent bool
}

func (e *UnavailableError) Error() string {
	return e.RequestError.Error() + capped(e.RetryAfter, e.Asked)
}

// InternalError: the server failed within: a 500, a webhook that failed, a bug. A write may have been
// done.
type InternalError struct{ RequestError }

// RejectedError: the server refuses the request for a reason that has no type of its own here: bad
// request, method not allowed, too large an object. Sending it again does not help.
type RejectedError struct{ RequestError }

// ResponseError: what came back is not what the API answers: a page of a proxy, a wrong content type,
// a body that ends too early, a Table where a list was asked for.
type ResponseError struct {
	RequestError
	// ContentType of the answer.
	ContentType string
	// Excerpt is the beginning of the body, at most 256 bytes. It is empty for JSON and protobuf,
	// which may hold a secret.
	Excerpt string
}

// NotServedError: no resource of the server serves the kind: its CRD is absent, or the API server that
// serves its group is down; or the kind has no such subresource. It heals by itself when the kind appears: the next call looks again.
// It answers true to apimachinery's meta.IsNoMatchError, and is not a NotFoundError: nothing is known
// about the object.
type NotServedError struct {
	Call
	GVK   schema.GroupVersionKind
	cause error
}

func (e *NotServedError) Error() string {
	if e.Subresource != "" {
		return fmt.Sprintf("%s: the server does not serve %s, or not its subresource %s", e.Call, e.GVK, e.Subresource)
	}
	return fmt.Sprintf("%s: the server does not serve %s", e.Call, e.GVK)
}

// Unwrap returns a *meta.NoKindMatchError or *meta.NoResourceMatchError.
func (e *NotServedError) Unwrap() error { return e.cause }

// IsExpired reports whether the server no longer has the state that was asked for: a [GoneError], from
// a list, a continue token or an event of a watch.
func IsExpired(err error) bool {
	_, ok := errors.AsType[*GoneError](err)
	return ok
}

// IsTooLarge reports whether the server has not yet seen the resourceVersion that was asked for: in
// an answer, or in an ERROR event of a watch. Servers say so by the type of a cause, older ones by
// the message of a cause, the oldest by the message alone.
func IsTooLarge(err error) bool {
	const text = "Too large resource version"
	var s metav1.Status
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		s = api.Status()
	} else if e, ok := errors.AsType[*wire.StatusError](err); ok {
		s = e.Status
	}
	if s.Reason != metav1.StatusReasonTimeout && s.Code != http.StatusGatewayTimeout {
		return false
	}
	if s.Details != nil {
		for _, c := range s.Details.Causes {
			if c.Type == metav1.CauseTypeResourceVersionTooLarge || c.Message == text {
				return true
			}
		}
	}
	return strings.Contains(s.Message, text)
}

// IsTerminating reports whether the server refused a write because its namespace is being deleted:
// trying again does not help.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// RetryAfter is how long to wait before the next try, as the server asked, but no longer than
// [Options.MaxRetryAfter]; ok is false when err is not of a kind that goes by waiting.
func RetryAfter(err error) (wait time.Duration, ok bool) {
	if e, ok := errors.AsType[*TooManyRequestsError](err); ok {
		return e.RetryAfter, true
	}
	if e, ok := errors.AsType[*UnavailableError](err); ok {
		return e.RetryAfter, true
	}
	if e, ok := errors.AsType[*TimeoutError](err); ok {
		return e.RetryAfter, true
	}
	return 0, false
}
