package client

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/object"
)

// ErrNotLive is the error for a read that only a server can answer, from a reader that is only a cache.
var ErrNotLive = errors.New("the reader has no server to ask")

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

// ArgumentError is the error for a call that makes no sense: an invalid key, selector, patch or text, or an
// option that the call cannot honor. Nothing was sent.
type ArgumentError struct {
	// Call has the verb, the kind and the key of the call as far as they matter.
	Call
	// Argument is what is wrong: "key", a selector, a patch, a field of [Op], [GetOptions] or
	// [ListOptions], or the path of a string in the object.
	Argument string
	// Problem says what is wrong with it.
	Problem string
	cause   error
}

func (e *ArgumentError) Error() string {
	parts := []string{e.Verb, e.Kind, strconv.Quote(e.Key.String())}
	if e.Key == (object.Key{}) {
		parts[2] = ""
	}
	call := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
	if call != "" {
		call += ": "
	}
	return call + e.Argument + ": " + e.Problem
}

// Unwrap returns the error of a parser; nil: there is none.
func (e *ArgumentError) Unwrap() error { return e.cause }

// wrong is an ArgumentError with a cause.
func wrong(argument string, cause error) error {
	return &ArgumentError{Argument: argument, Problem: cause.Error(), cause: cause}
}

// RequestError is the common part of the errors of requests. It has the request and a Status: that of
// the server, or one made for a failure of the connection. The error types for the causes embed it;
// errors.As finds those.
type RequestError struct {
	Call
	// RetryAfter is how long to wait: the lesser of Asked and [Options.MaxRetryAfter].
	RetryAfter time.Duration
	// Asked is how long the server asks to wait; zero if it does not say.
	Asked  time.Duration
	status metav1.Status
	cause  error
	// refused says that the API server itself says that it has not processed the request.
	refused bool
}

// Status returns the failure in the form of the API, for the errors.IsNotFound family of apimachinery.
func (f *RequestError) Status() metav1.Status { return f.status }

// Unwrap returns the error of the network or of reading the answer; nil if the server answered with a
// Status.
func (f *RequestError) Unwrap() error { return f.cause }

func (f *RequestError) Error() string {
	text := f.Call.String() + ": " + f.status.Message
	if f.RetryAfter < f.Asked {
		text += fmt.Sprintf(" (the server asks to wait %v; the client waits %v)", f.Asked, f.RetryAfter)
	}
	return text
}

// request returns the common part of an error that embeds it.
func (f *RequestError) request() *RequestError { return f }

func (f *RequestError) answered() int32 { return f.status.Code }

// failed is an error of a request.
type failed interface {
	answered
	request() *RequestError
}

// answered is an error that has the code of an answer, or of a failure that stands for one.
type answered interface {
	error
	answered() int32
}

// unanswered marks the errors that say nothing about objects: see [object.ErrNoAnswer]. A ForbiddenError
// is among them because it says that this program may not ask.
type unanswered struct{}

// Is reports whether target is object.ErrNoAnswer.
func (unanswered) Is(target error) bool { return target == object.ErrNoAnswer }

// NotFoundError is the error if there is no object of this name. Only a Status that names the object says
// so. A kind or subresource that the server does not serve is a [NotServedError]. Another object that is
// missing is a [MissingError].
type NotFoundError struct{ RequestError }

// MissingError is the error if an object is missing that is not the object of the call, but that the call
// needs: the namespace of a create, for instance. The call has changed nothing. The error says nothing
// about the object of the call, and [IgnoreNotFound] keeps it. Return it from a reconciler: a retry succeeds
// once the other object exists.
type MissingError struct {
	Call
	unanswered
	// Object is the resource of the missing object, or what the server calls it.
	Object schema.GroupResource
	// Name is the name of the missing object.
	Name string
	code int32
	said string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s %q is missing: %s", e.Call, e.Object, e.Name, e.said)
}

func (e *MissingError) answered() int32 { return e.code }

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
	Fields []metav1.StatusCause
}

// InvalidError is the error for an object that breaks the rules of its kind. A retry does not help.
type InvalidError struct {
	RequestError
	// Fields are those that are wrong, in the order of the server.
	Fields []metav1.StatusCause
}

// ForbiddenError is the error if the user may not make the request. RequestError has verb, resource,
// namespace and name.
type ForbiddenError struct {
	RequestError
	unanswered
	// User is the name of the user in the server's message; empty if it has none.
	User string
}

// UnauthorizedError is the error if the server does not accept the credentials, also after the client
// has read them again.
type UnauthorizedError struct {
	RequestError
	unanswered
}

// TooManyRequestsError is the error if the server has not processed the request and asks for a later
// retry, or if an eviction would violate a PodDisruptionBudget.
type TooManyRequestsError struct {
	RequestError
	unanswered
}

// GoneError is the error if the server no longer has the resourceVersion or the continue token. List
// again.
type GoneError struct {
	RequestError
	unanswered
	// Continue is a token that continues the list with newer objects, which is inconsistent. It is
	// empty if the list cannot continue.
	Continue string
}

// TimeoutError is the error if no answer came in time. The server may have made a write.
type TimeoutError struct {
	RequestError
	unanswered
}

// UnavailableError is the error if the server cannot be reached, or says that it cannot serve now.
type UnavailableError struct {
	RequestError
	unanswered
	// Unsent is true if the server cannot have processed the request: there was no connection, or
	// a Status of the API server says so. The page of a proxy cannot. The server may have made a write that is not Unsent.
	Unsent bool
}

// InternalError is the error if the server failed: a 500, a failed webhook, a bug. The server may have
// made a write.
type InternalError struct {
	RequestError
	unanswered
}

// RejectedError is the error if the server refuses the request for a reason without an error type of its
// own: bad request, method not allowed, object too large. A retry does not help.
type RejectedError struct{ RequestError }

// ResponseError is the error for a response that is none of the API. Examples are a page of a proxy, a
// wrong content type, a body that ends too early, and a Table instead of a list.
type ResponseError struct {
	RequestError
	unanswered
	// ContentType is that of the response.
	ContentType string
	// Excerpt is the start of the body, at most 256 bytes. It is empty for JSON and protobuf, which
	// may hold a secret.
	Excerpt string
}

// NotServedError is the error if the server has no resource for the kind, or the kind lacks the
// subresource. A server without the subresource says that the object is not found: the client then asks for
// the object itself. The CRD may be absent, or the API server of its group down. When the kind appears, the
// next call finds it. The error satisfies meta.IsNoMatchError of apimachinery. It says nothing about
// the object, unlike a NotFoundError.
type NotServedError struct {
	Call
	unanswered
	GVK   schema.GroupVersionKind
	code  int32
	said  string // by the server
	cause error
}

func (e *NotServedError) Error() string {
	text := fmt.Sprintf("%s: the server does not serve %s", e.Call, e.GVK)
	if e.Subresource != "" {
		text += ", or not its subresource " + e.Subresource
	}
	if e.said != "" {
		text += ": " + e.said
	}
	return text
}

func (e *NotServedError) answered() int32 { return e.code }

// Unwrap returns a *meta.NoKindMatchError or *meta.NoResourceMatchError.
func (e *NotServedError) Unwrap() error { return e.cause }

// RetryAfter returns how long to wait before the next try: as long as the server asks, at most
// [Options.MaxRetryAfter]. ok is false for an error that waiting does not help.
func RetryAfter(err error) (wait time.Duration, ok bool) {
	f, ok := errors.AsType[failed](err)
	if !ok {
		return 0, false
	}
	switch f.(type) {
	case *TooManyRequestsError, *UnavailableError, *TimeoutError:
		return f.request().RetryAfter, true
	}
	return 0, false
}

// IgnoreNotFound returns nil if err says that the object does not exist, else err. It is for
// reconcilers: a deleted object is no failure to them.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Failure makes the typed error of a Status, such as a [ConflictError], for a client other than [Live].
func (c Call) Failure(s metav1.Status) error { return statusError(c, s, 0) }

// NewNotFound makes a [NotFoundError] for a reader other than the server, such as a cache. Its Status is
// like that of the server.
func NewNotFound(call Call) *NotFoundError {
	return &NotFoundError{RequestError{Call: call, status: apierrors.NewNotFound(call.Resource.GroupResource(), call.Key.Name).ErrStatus}}
}
