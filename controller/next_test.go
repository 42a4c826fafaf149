package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flyball-io/flyball/reconcile"
	"github.com/flyball-io/flyball/run"
)

func TestNextIsTheRetryPolicy(t *testing.T) {
	failure := errors.New("conflict")
	for _, tc := range []struct {
		name   string
		result reconcile.Result
		err    error
		want   action
	}{
		{"success forgets the backoff", reconcile.Result{}, nil,
			action{outcome: Success, forget: true}},
		{"a time starts the backoff afresh", reconcile.Result{RequeueAfter: time.Minute}, nil,
			action{outcome: RequeueAfter, forget: true, requeue: true, after: time.Minute, trigger: reconcile.Requeued}},
		{"a time wins over soon", reconcile.Result{RequeueAfter: time.Minute, Requeue: true}, nil,
			action{outcome: RequeueAfter, forget: true, requeue: true, after: time.Minute, trigger: reconcile.Requeued}},
		{"soon is spaced", reconcile.Result{Requeue: true}, nil,
			action{outcome: Requeue, requeue: true, limited: true, trigger: reconcile.Requeued}},
		{"a negative time is none", reconcile.Result{RequeueAfter: -1}, nil,
			action{outcome: Success, forget: true}},
		{"an error backs off", reconcile.Result{}, failure,
			action{outcome: Failed, requeue: true, limited: true, trigger: reconcile.Retried}},
		{"an error overrides the result", reconcile.Result{RequeueAfter: time.Minute}, failure,
			action{outcome: Failed, requeue: true, limited: true, trigger: reconcile.Retried}},
		{"a terminal error is not retried", reconcile.Result{Requeue: true}, fmt.Errorf("spec: %w", reconcile.Terminal(failure)),
			action{outcome: Terminal, forget: true}},
		{"a panic is an error", reconcile.Result{}, &run.PanicError{Value: "oops"},
			action{outcome: Failed, requeue: true, limited: true, trigger: reconcile.Retried}},
		{"also a panic with a terminal error", reconcile.Result{}, &run.PanicError{Value: reconcile.Terminal(failure)},
			action{outcome: Failed, requeue: true, limited: true, trigger: reconcile.Retried}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := next(tc.result, tc.err); got != tc.want {
				t.Errorf("got  %+v\nwant %+v", got, tc.want)
			}
		})
	}
}
