package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ended is the error for a call that the caller's ctx ended. It wraps the cause of ctx.
func ended(ctx context.Context, call Call) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("%s: %w", call, cause)
	}
	return fmt.Errorf("%s: %w: %w", call, err, cause)
}

// connectionError gives an error of net/http its type in this package, if there is no answer or only
// part of one. ctx is that of the caller, rctx that of the request.
func connectionError(ctx, rctx context.Context, call Call, base *url.URL, err error) error {
	if ctx.Err() != nil {
		return ended(ctx, call)
	}
	if context.Cause(rctx) == errCut {
		err = errCut
	}
	if context.Cause(rctx) == errSilent {
		return &TimeoutError{RequestError: local(call, metav1.StatusReasonTimeout, http.StatusGatewayTimeout, errSilent)}
	}
	if problem := endpointProblem(err); problem != "" {
		return &ConfigError{Call: call, Source: base.String(), Problem: problem, cause: err}
	}
	unsent := false
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		unsent = true
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() && !unsent {
		return &TimeoutError{RequestError: local(call, metav1.StatusReasonTimeout, http.StatusGatewayTimeout, err)}
	}
	return &UnavailableError{
		RequestError: local(call, metav1.StatusReasonServiceUnavailable, http.StatusServiceUnavailable, err),
		Unsent:       unsent,
	}
}

// local is the failure of a request without an answer.
func local(call Call, reason metav1.StatusReason, code int32, cause error) RequestError {
	return RequestError{Call: call, cause: cause, status: metav1.Status{
		Status: metav1.StatusFailure, Reason: reason, Code: code, Message: cause.Error(),
	}}
}

// endpointProblem names a problem of the configuration, or returns "".
func endpointProblem(err error) string {
	if e, ok := errors.AsType[x509.HostnameError](err); ok {
		return "its certificate is not for the name " + strconv.Quote(e.Host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an authority that the configuration does not know"
	}
	if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return "its certificate is not valid"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate cannot be verified"
	}
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	if noTLS || errors.Is(err, http.ErrSchemeMismatch) {
		return "it does not speak TLS, the configuration says https"
	}
	return ""
}

// maxStatus is the maximum number of bytes that are read of the body of an error.
const maxStatus = 1 << 20

// answerError makes the error for an answer that is not 2xx.
func answerError(call Call, base *url.URL, resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil && len(data) == 0 {
		data = nil
	}
	after := retryAfter(resp.Header)
	if s, ok := parseStatus(data); ok {
		if s.Code == 0 {
			s.Code = int32(resp.StatusCode)
		}
		return statusError(call, s, after)
	}
	text := excerpt(data)
	if resp.StatusCode == http.StatusBadRequest && base.Scheme == "http" && strings.Contains(text, "HTTPS server") {
		return &ConfigError{Call: call, Source: base.String(), Problem: "it speaks TLS, the configuration says http", cause: errors.New(text)}
	}
	msg := "the server answered " + strings.TrimSpace(resp.Status) + " without a Status"
	if text != "" {
		msg += ": " + text
	}
	s := metav1.Status{Status: metav1.StatusFailure, Code: int32(resp.StatusCode), Message: msg}
	if r := reasonOf(resp.StatusCode, call.Verb); r != metav1.StatusReasonUnknown && r != metav1.StatusReasonBadRequest {
		return statusError(call, s, after)
	}
	return &ResponseError{
		RequestError: RequestError{Call: call, status: s},
		ContentType:  resp.Header.Get("Content-Type"),
		Excerpt:      text,
	}
}

// retryAfter reads the Retry-After header: seconds or a date.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseUint(v, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(s, maxSeconds)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(t))
	}
	return 0
}

// maxSeconds is the maximum of a time.Duration in seconds.
const maxSeconds = uint64(math.MaxInt64 / time.Second)

// defaultMaxWait is the default of Options.MaxRetryAfter.
const defaultMaxWait = time.Minute

// bounded returns err, with its RetryAfter cut to longest.
func bounded(err error, longest time.Duration) error {
	if f, ok := err.(failed); ok {
		f.request().RetryAfter = min(f.request().Asked, longest)
	}
	return err
}

// excerpt is the start of a body as valid UTF-8, at most 256 bytes before that.
func excerpt(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) > 256 {
		data = data[:256]
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

var protobufMagic = []byte("k8s\x00")

// parseStatus decodes a metav1.Status in JSON or protobuf. ok is false for anything else.
func parseStatus(data []byte) (s metav1.Status, ok bool) {
	if bytes.HasPrefix(data, protobufMagic) {
		var u runtime.Unknown
		if u.Unmarshal(data[len(protobufMagic):]) != nil || u.Kind != "Status" || s.Unmarshal(u.Raw) != nil {
			return metav1.Status{}, false
		}
		return s, true
	}
	if json.Unmarshal(data, &s) != nil || s.Kind != "Status" {
		return metav1.Status{}, false
	}
	return s, true
}

// statusError makes the error for a Status by its reason, or by its code if it has no reason.
func statusError(call Call, s metav1.Status, after time.Duration) error {
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 && after == 0 {
		after = time.Duration(s.Details.RetryAfterSeconds) * time.Second
	}
	if s.Reason == "" || s.Reason == metav1.StatusReasonUnknown {
		s.Reason = reasonOf(int(s.Code), call.Verb)
	}
	if s.Message == "" {
		s.Message = "the server answered " + strconv.Itoa(int(s.Code)) + " " + string(s.Reason)
	}
	return bounded(failureOf(call, s, after), defaultMaxWait)
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
		if call.Key.Name == "" && call.Verb != verbCreate || !namesObject(s) {
			return &NotServedError{Call: call, GVK: call.Resource.GroupVersion().WithKind(call.Kind), cause: noResource(call)}
		}
		return &NotFoundError{f}
	case metav1.StatusReasonAlreadyExists:
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
		return &UnavailableError{RequestError: wait, Unsent: after > 0}
	}
	if s.Code >= 500 {
		return &InternalError{RequestError: f}
	}
	return &RejectedError{f}
}

// reasonOf is the reason for a code.
func reasonOf(code int, verb string) metav1.StatusReason {
	switch code {
	case http.StatusGone:
		return metav1.StatusReasonGone
	case http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge
	case http.StatusBadGateway:
		return metav1.StatusReasonServiceUnavailable
	case http.StatusRequestTimeout:
		return metav1.StatusReasonTimeout
	}
	if verb == verbCreate {
		verb = http.MethodPost
	}
	return apierrors.NewGenericServerResponse(code, verb, schema.GroupResource{}, "", "", 0, false).ErrStatus.Reason
}

// namesObject reports whether a 404 is about an object, and not about the path of its resource.
func namesObject(s metav1.Status) bool { return s.Details != nil && s.Details.Name != "" }

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
