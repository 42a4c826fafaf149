// Package refused tests what the adapters tell of a server that refuses every request.
package refused

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/faults"
)

// Run checks that a handler of watch errors finds what the server answers as an error of apimachinery. watch starts a
// watch at a server, whose handler is told, and which ends with the test.
func Run(t *testing.T, watch func(cfg *rest.Config, told func(error))) {
	for code, reason := range map[int]metav1.StatusReason{
		401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
		429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			faults.Answer(w, code, reason, "", 0)
		}))
		t.Cleanup(server.Close)
		told := make(chan error, 1)
		watch(&rest.Config{Host: server.URL}, func(err error) {
			select {
			case told <- err:
			default:
			}
		})
		bounded, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		select {
		case err := <-told:
			if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.ErrStatus.Reason != reason {
				t.Errorf("%d: %#v", code, err)
			}
		case <-bounded.Done():
			t.Errorf("%d: not told", code)
		}
		cancel()
	}
}
