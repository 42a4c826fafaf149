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

// failure is an error that is no verdict.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Failed marks an error of a Defaulter or Validator as no verdict on the object: the webhook could
// not find out. The answer is 500, and the API server does what the failurePolicy says. Failed(nil)
// is nil.
//
// Errors that can mean nothing else need no mark, wrapped or not:
//
//   - Those of reads and reviews without an answer, see [object.ErrNoAnswer]: the cache has not
//     synced, the kind is not held, the API server does not answer, or this program may not ask it.
//   - Errors of the API, such as those of client-go, with the code 401, 408, 410, 429 or from 500 on.
//     One with the code 403 is a denial: use [Failed] for what another client was refused.
//   - The end of a context, a network or HTTP request that failed, and what ran into a timeout.
//   - A *field.Error of the type FieldValueInternal.
//
// Where other field errors stand beside one of these, joined, the object is refused: it is wrong
// whatever the webhook could not find out. The mark of Failed prevails over them.
func Failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err}
}

// failed reports whether the error of a typed handler is no verdict.
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

// unanswered reports whether an error says that something could not be found out.
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
	// Parsers of addresses return errors of the package net, too: only a timeout tells them apart.
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		return true
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		return e.Op != "parse"
	}
	e := (*net.OpError)(nil)
	return errors.As(err, &e)
}
