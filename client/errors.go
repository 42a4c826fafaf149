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

// ErrNotLive is the error for a read that only a server can answer, from a reader that is only a cache.
var ErrNotLive = errors.New("the reader has no server to ask")

// ErrEndless is wrapped by the error of a list whose pages do not end: the server sent a continue token
// twice, or page after page without an object.
var ErrEndless = paging.ErrEndless

// Call names a request, for errors, hooks and logs.
type Call struct {
	Verb string
	// Resource is empty if the kind could not be mapped to a resource.
	Resource schema.GroupVersionResource
	// Kind is that of the objects. It is empty if the call has none.
	Kind string
	// Key is that of the object. Lists and watches have no name.
	Key         object.Key
	Subresource string
	// Initial is set for a watch that starts with a streaming list.
	Initial bool
}

// String is the call as errors show it: "update deployments.apps/scale default/web".
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

// RequestError is the common part of the errors of requests. It has the request and a Status: that of
// the server, or one made for a failure of the connection. The error types for the causes embed it;
// errors.As finds those.
type RequestError struct {
	Call
	status metav1.Status
	cause  error
}

// Status returns the failure in the form of the API, for the errors.IsNotFound family of apimachinery.
func (f *RequestError) Status() metav1.Status { return f.status }

// Unwrap returns the error of the network or of reading the answer; nil if the server answered with a
// Status.
func (f *RequestError) Unwrap() error { return f.cause }

func (f *RequestError) Error() string {
	return fmt.Sprintf("%s: %s", f.Call, f.status.Message)
}

// NotFoundError is the error if there is no object of this name. A kind that the server does not serve
// is a [NotServedError].
type NotFoundError struct{ RequestError }

// AlreadyExistsError is the error of a create if an object of this name exists.
type AlreadyExistsError struct{ RequestError }

// absentVersion is a resourceVersion that no object has. A server-side apply, forced or not, compares the
// version in its body with that of an existing object. If there is no object, it ignores the version
// and creates one. So an apply with this version never changes an object. See
// docs/adr/0014-create-or-fail.md.
const absentVersion = "9223372036854775807"

// existed turns the conflict of an apply with IfAbsent into an *AlreadyExistsError. It keeps a conflict
// about another object, such as a contended quota.
func existed(err error) error {
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || conflict.status.Details == nil || conflict.status.Details.Name != conflict.Key.Name || conflict.status.Details.Kind != conflict.Resource.Resource {
		return err
	}
	s := conflict.status
	s.Reason, s.Message = metav1.StatusReasonAlreadyExists, "there is one already"
	return &AlreadyExistsError{RequestError{Call: conflict.Call, status: s, cause: conflict}}
}

// ConflictError is the error if the object has another resourceVersion than the request, if a precondition
// does not hold, or if others own fields of an apply. Read the object again and decide again.
type ConflictError struct {
	RequestError
	// Fields are those of an apply that others own.
	Fields []FieldProblem
}

// InvalidError is the error for an object that breaks the rules of its kind. A retry does not help.
type InvalidError struct {
	RequestError
	// Fields are those that are wrong, in the order of the server.
	Fields []FieldProblem
}

// FieldProblem is one field that the server objects to.
type FieldProblem struct {
	// Path is that of the field: "spec.replicas", "spec.containers[0].image". Empty: the whole
	// object.
	Path string
	// Type is that of the problem: FieldValueRequired, FieldValueInvalid, FieldManagerConflict …
	Type metav1.CauseType
	// Detail is a text for people.
	Detail string
}

// ForbiddenError is the error if the user may not make the request. RequestError has verb, resource,
// namespace and name.
type ForbiddenError struct {
	RequestError
	// User is the name of the user in the server's message; empty if it has none.
	User string
}

// UnauthorizedError is the error if the server does not accept the credentials, also after the client
// has read them again.
type UnauthorizedError struct{ RequestError }

// TooManyRequestsError is the error if the server has not processed the request and asks for a later
// retry, or if an eviction would violate a PodDisruptionBudget.
type TooManyRequestsError struct {
	RequestError
	// RetryAfter is how long to wait: the lesser of Asked and [Options.MaxRetryAfter].
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero if it does not say.
	Asked time.Duration
}

func (e *TooManyRequestsError) Error() string {
	return e.RequestError.Error() + capped(e.RetryAfter, e.Asked)
}

// capped is the part of an error message about a wait that is shorter than the server asks for.
func capped(wait, asked time.Duration) string {
	if wait >= asked {
		return ""
	}
	return fmt.Sprintf(" (the server asks to wait %v; the client waits %v)", asked, wait)
}

// GoneError is the error if the server no longer has the resourceVersion or the continue token. List
// again.
type GoneError struct {
	RequestError
	// Continue is a token that continues the list with newer objects, which is inconsistent. It is
	// empty if the list cannot continue.
	Continue string
}

// TimeoutError is the error if no answer came in time. The server may have made a write.
type TimeoutError struct {
	RequestError
	// RetryAfter is how long to wait: the lesser of Asked and [Options.MaxRetryAfter].
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero if it does not say.
	Asked time.Duration
}

func (e *TimeoutError) Error() string { return e.RequestError.Error() + capped(e.RetryAfter, e.Asked) }

// UnavailableError is the error if the server cannot be reached, or says that it cannot serve now.
type UnavailableError struct {
	RequestError
	// RetryAfter is how long to wait: the lesser of Asked and [Options.MaxRetryAfter].
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero if it does not say.
	Asked time.Duration
	// Unsent is true if the server cannot have processed the request: there was no connection, or
	// the server says so. The server may have made a write that is not Unsent.
	Unsent bool
}

func (e *UnavailableError) Error() string {
	return e.RequestError.Error() + capped(e.RetryAfter, e.Asked)
}

// InternalError is the error if the server failed: a 500, a failed webhook, a bug. The server may have
// made a write.
type InternalError struct{ RequestError }

// RejectedError is the error if the server refuses the request for a reason without an error type of its
// own: bad request, method not allowed, object too large. A retry does not help.
type RejectedError struct{ RequestError }

// ResponseError is the error for a response that is none of the API. Examples are a page of a proxy, a
// wrong content type, a body that ends too early, and a Table instead of a list.
type ResponseError struct {
	RequestError
	// ContentType is that of the response.
	ContentType string
	// Excerpt is the start of the body, at most 256 bytes. It is empty for JSON and protobuf, which
	// may hold a secret.
	Excerpt string
}

// NotServedError is the error if the server has no resource for the kind, or the kind lacks the
// subresource. The CRD may be absent, or the API server of its group down. When the kind appears, the
// next call finds it. The error satisfies meta.IsNoMatchError of apimachinery. It says nothing about
// the object, unlike a NotFoundError.
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

// IsExpired reports whether err is a [GoneError], from a list, a continue token or an event of a watch:
// the server no longer has that state.
func IsExpired(err error) bool {
	_, ok := errors.AsType[*GoneError](err)
	return ok
}

// IsTooLarge reports whether err says that the server has not yet seen the resourceVersion, in an answer
// or in an ERROR event of a watch. Servers say so by the type of a cause, older ones by the message of a
// cause, and the oldest by the message of the Status.
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

// IsTerminating reports whether the server refused a write because the namespace is being deleted. A
// retry does not help.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// RetryAfter returns how long to wait before the next try: as long as the server asks, at most
// [Options.MaxRetryAfter]. ok is false for an error that waiting does not help.
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
