package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/test/webhooktest"
	. "github.com/flyball-io/flyball/webhook"
)

// TestNoAnswerIsNoVerdict: a handler that lacks an answer from the API server gives no verdict, so
// that the failurePolicy applies.
func TestNoAnswerIsNoVerdict(t *testing.T) {
	gr := schema.GroupResource{Resource: "things"}
	at := field.NewPath("spec", "text")
	//lint:ignore SA1007 it is invalid on purpose
	_, badURL := url.Parse("http://[::1")
	_, _, badCIDR := net.ParseCIDR("10.0.0.0/99")
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	for _, tt := range []struct {
		name    string
		err     error
		verdict int32 // the code of the denial; zero means a failure
	}{
		{"no connection", &client.UnavailableError{}, 0},
		{"no answer in time", &client.TimeoutError{}, 0},
		{"a server that is broken", &client.InternalError{}, 0},
		{"too many requests", &client.TooManyRequestsError{}, 0},
		{"a page of a proxy", &client.ResponseError{}, 0},
		{"a read that this program may not do", &client.ForbiddenError{}, 0},
		{"credentials that are not accepted", &client.UnauthorizedError{}, 0},
		{"a kind that is not served", &client.NotServedError{}, 0},
		{"a write that was kept back", &client.FencedError{Err: errors.New("not leading")}, 0},
		{"wrapped", fmt.Errorf("look up the quota: %w", &client.UnavailableError{}), 0},
		{"with a reason of the handler", fmt.Errorf("%w: %w", errors.New("quota unknown"), &client.TimeoutError{}), 0},
		{"joined with a plain error", errors.Join(errors.New("no"), &client.TimeoutError{}), 0},
		{"of another client: 500", apierrors.NewInternalError(errors.New("etcd")), 0},
		{"of another client: 503", apierrors.NewServiceUnavailable("later"), 0},
		{"of another client: 504", apierrors.NewServerTimeout(gr, "get", 1), 0},
		{"of another client: 429", apierrors.NewTooManyRequests("later", 1), 0},
		{"of another client: 401", apierrors.NewUnauthorized("who"), 0},
		{"of another client: 410", apierrors.NewResourceExpired("old"), 0},
		{"no match", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "X"}}, 0},
		{"a deadline", fmt.Errorf("ask: %w", context.DeadlineExceeded), 0},
		{"a cancel", context.Canceled, 0},
		{"a dial", dial, 0},
		{"an HTTP request", &url.Error{Op: "Get", URL: "http://x", Err: errors.New("EOF")}, 0},
		{"a deadline of a socket", os.ErrDeadlineExceeded, 0},
		{"a name that does not resolve in time", &net.DNSError{IsTimeout: true}, 0},
		{"an internal field error", field.InternalError(at, errors.New("no database")), 0},
		{"a field error marked as none", Failed(field.Required(at, "")), 0},

		{"a field error beside it", errors.Join(field.Required(at, ""), &client.UnavailableError{}), 422},
		{"a field error that wraps nothing", field.Required(at, ""), 422},
		{"plain", errors.New("no"), 403},
		{"an object that is not there", &client.NotFoundError{}, 403},
		{"of another client: 403", apierrors.NewForbidden(gr, "x", errors.New("no")), 403},
		{"of another client: 404", apierrors.NewNotFound(gr, "x"), 404},
		{"of another client: 409", apierrors.NewConflict(gr, "x", errors.New("no")), 409},
		{"a URL that is none", badURL, 403},
		{"a network that is none", badCIDR, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.err == nil {
				t.Fatal("the test has no error")
			}
			ctx := t.Context()
			v := must(NewValidator[thing](things(), ValidatorFuncs[thing]{
				Create: func(context.Context, *thing) ([]string, error) { return nil, tt.err },
			}, quiet()))(t)
			d := must(NewDefaulter[thing](things(), Defaulter[thing](func(context.Context, *thing) error { return tt.err }), quiet()))(t)
			for _, e := range []*Endpoint{v, d} {
				res, err := webhooktest.Create(ctx, e, newThing("a"))
				if tt.verdict == 0 {
					if no, ok := errors.AsType[*webhooktest.NoVerdictError](err); !ok || no.Code != http.StatusInternalServerError {
						t.Errorf("%s: %+v, %v, want 500 and no verdict", e.Path(), res, err)
					}
				} else if err != nil || res.Allowed || res.Status.Code != tt.verdict {
					t.Errorf("%s: %+v, %v, want a denial with %d", e.Path(), res, err, tt.verdict)
				}
			}
		})
	}
}
