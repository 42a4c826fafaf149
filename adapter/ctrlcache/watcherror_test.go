package ctrlcache_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
)

// Whatever the server answers, the handler of watch errors finds it as an error of apimachinery.
func TestWatchErrorsAreStatusErrors(t *testing.T) {
	for code, reason := range map[int]metav1.StatusReason{
		401: metav1.StatusReasonUnauthorized, 403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound,
		429: metav1.StatusReasonTooManyRequests, 500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: reason, Code: int32(code),
			})
		}))
		t.Cleanup(server.Close)
		told := make(chan error, 1)
		c, err := ctrlcache.New(&rest.Config{Host: server.URL}, crcache.Options{
			Mapper: live(t).RESTMapper(),
			DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
				select {
				case told <- err:
				default:
				}
			},
		})
		must(t, err)
		run(t, c.Start)
		if _, err := c.GetInformer(t.Context(), &corev1.Node{}, crcache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-told:
			if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.ErrStatus.Reason != reason {
				t.Errorf("%d: %#v", code, err)
			}
		case <-bounded(t).Done():
			t.Errorf("%d: not told", code)
		}
	}
}
