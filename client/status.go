package client

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/wire"
)

// statusError makes the error for a Status by its reason, or by its code if it has no reason.
func statusError(call Call, s metav1.Status, after time.Duration) error {
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 && after == 0 {
		after = time.Duration(s.Details.RetryAfterSeconds) * time.Second
	}
	if breaks, other := breaksSchema(s); breaks {
		return &SchemaError{RequestError: RequestError{Call: call, status: s}, OtherVersion: other}
	}
	return typedError(call, s, after, refuses(s, after))
}

// typedError makes the error for a Status, of a server or made for a page. refused says that the API server
// has not processed the request.
func typedError(call Call, s metav1.Status, after time.Duration, refused bool) error {
	if s.Reason == "" || s.Reason == metav1.StatusReasonUnknown {
		s.Reason = wire.ReasonOf(int(s.Code))
	}
	if s.Message == "" {
		s.Message = "the server answered " + strconv.Itoa(int(s.Code)) + " " + string(s.Reason)
	}
	err := failureOf(call, s, after)
	if f, ok := err.(failed); ok {
		f.request().refused = refused
	}
	if e, ok := err.(*UnavailableError); ok {
		e.Unsent = refused
	}
	return bounded(err, defaultMaxWait)
}

func failureOf(call Call, s metav1.Status, after time.Duration) error {
	f := RequestError{Call: call, status: s}
	var fields []metav1.StatusCause
	if s.Details != nil {
		fields = s.Details.Causes
	}
	wait := f
	wait.Asked = after
	switch s.Reason {
	case metav1.StatusReasonNotFound:
		return absence(f)
	case metav1.StatusReasonAlreadyExists:
		if d := s.Details; d != nil && d.Name != "" && call.Key.Name != "" && !namesObject(d, call) {
			return &ConflictError{RequestError: f} // another object is in the way
		}
		return &AlreadyExistsError{f}
	case metav1.StatusReasonConflict:
		return &ConflictError{RequestError: f, Fields: fields}
	case metav1.StatusReasonInvalid:
		return &InvalidError{RequestError: f, Fields: fields}
	case metav1.StatusReasonForbidden:
		return &ForbiddenError{RequestError: f, User: userOf(s.Message)}
	case metav1.StatusReasonUnauthorized:
		return &UnauthorizedError{RequestError: f}
	case metav1.StatusReasonTooManyRequests:
		return &TooManyRequestsError{RequestError: wait}
	case metav1.StatusReasonGone, metav1.StatusReasonExpired:
		return &GoneError{RequestError: f, Continue: s.Continue}
	case metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout:
		return &TimeoutError{RequestError: wait}
	case metav1.StatusReasonServiceUnavailable:
		return &UnavailableError{RequestError: wait}
	}
	if s.Code >= 500 {
		return &InternalError{RequestError: f}
	}
	return &RejectedError{f}
}

// absence is the error for a 404. Only a Status that names the object of the call says that the object does
// not exist. The object of a create is never the one that is missing.
func absence(f RequestError) error {
	call, d := f.Call, f.status.Details
	switch {
	case d == nil || d.Name == "":
		return &NotServedError{
			Call: call, GVK: call.Resource.GroupVersion().WithKind(call.Kind),
			code: f.status.Code, said: f.status.Message, cause: noResource(call),
		}
	case call.Verb == verbCreate && call.Subresource == "", !namesObject(d, call):
		return &MissingError{
			Call: call, Object: schema.GroupResource{Group: d.Group, Resource: d.Kind}, Name: d.Name,
			code: f.status.Code, said: f.status.Message,
		}
	}
	return &NotFoundError{f}
}

// namesObject reports whether the details of a Status name the object of a call. Servers name its resource, with or
// without the subresource; some name its kind.
func namesObject(d *metav1.StatusDetails, call Call) bool {
	if d.Name != "" && d.Name == call.Key.Name && call.Resource.Resource == "" { // of a reader that knows no resources
		return true
	}
	if d.Name == "" || d.Name != call.Key.Name || d.Group != "" && d.Group != call.Resource.Group {
		return false
	}
	resource := call.Resource.Resource
	return d.Kind == resource || d.Kind == resource+"/"+call.Subresource || strings.EqualFold(d.Kind, call.Kind)
}

// userOf returns the user in a message of the server, for people. No decision depends on it.
func userOf(message string) string {
	_, rest, ok := strings.Cut(message, "User ")
	if !ok {
		return ""
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return ""
	}
	user, _ := strconv.Unquote(quoted)
	return user
}
