package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/object"
)

// failure marks an error that is not a verdict.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Failed marks an error of a Defaulter or Validator as a failure of the webhook, not a verdict on
// the object. The answer is 500, and the API server applies the failurePolicy. Failed(nil) is nil.
//
// These errors, wrapped or not, count as failures without the mark:
//
//   - Errors of reads and reviews without an answer, see [object.ErrNoAnswer]. Causes are a cache
//     that has not synced or does not hold the kind, an API server that does not answer, or a
//     missing permission of this program.
//   - Errors of the API, such as those of client-go, with the code 401, 408, 410, 429 or from 500
//     on. Code 403 is a denial: use [Failed] if another client was refused.
//   - The end of a context, a failed network or HTTP request, and a timeout.
//   - A *field.Error of the type FieldValueInternal.
//
// A joined error that also has other field errors is a denial: the object is wrong in any case. The
// mark of Failed takes precedence over field errors.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err}
}

// failed reports whether the error of a typed handler is a failure rather than a verdict.
func failed(err error) bool {
	if f := (*failure)(nil); errors.As(err, &f) {
		return true
	}
	fields, _ := split(err, nil, nil)
	internal := false
	for _, e := range fields {
		if e.Type != field.ErrorTypeInternal {
			return false
		}
		internal = true
	}
	return internal || unanswered(err)
}

// unanswered reports whether err says that a read or request got no answer.
func unanswered(err error) bool {
	switch {
	case errors.Is(err, object.ErrNoAnswer), meta.IsNoMatchError(err):
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	}
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		switch code := api.Status().Code; code {
		case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusGone, http.StatusTooManyRequests:
			return true
		default:
			return code >= http.StatusInternalServerError
		}
	}
	// Address parsers return errors of package net, too. Only a timeout distinguishes a network
	// failure.
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		return true
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Op != "parse"
	}
	e := (*net.OpError)(nil)
	return errors.As(err, &e)
}
