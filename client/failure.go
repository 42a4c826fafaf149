package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if ctx.Err() != nil && errors.Is(err, errHung) {
		return fmt.Errorf("%w: %w", ended(ctx, call), errHung)
	}
	if ctx.Err() != nil {
		return ended(ctx, call)
	}
	if context.Cause(rctx) == errCut {
		err = errCut
	}
	if context.Cause(rctx) == errSilent {
		if !errors.Is(err, errHung) {
			err = errSilent
		}
		return &TimeoutError{RequestError: local(call, metav1.StatusReasonTimeout, http.StatusGatewayTimeout, err)}
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

// retryAfter reads the Retry-After header: seconds or a date, which is one of the clock that the Date header
// shows.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseUint(v, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(s, maxSeconds)) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return max(0, t.Sub(now))
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
