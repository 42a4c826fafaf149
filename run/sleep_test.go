package run_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/run"
)

func TestSleepEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	for _, test := range []struct {
		name       string
		d, end     time.Duration // end of ctx; negative: before the call
		want       error
		wantPassed time.Duration
	}{
		{"slept", time.Minute, time.Hour, nil, time.Minute},
		{"nothing to wait for", 0, time.Hour, nil, 0},
		{"negative", -time.Second, time.Hour, nil, 0},
		{"ended meanwhile", time.Minute, time.Second, cause, time.Second},
		{"ended before", time.Minute, -1, cause, 0},
		{"ended before, nothing to wait for", 0, -1, cause, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.end < 0 {
					cancel(cause)
				} else {
					defer time.AfterFunc(test.end, func() { cancel(cause) }).Stop()
				}
				began := time.Now()
				err := run.Sleep(ctx, test.d)
				if err != test.want || time.Since(began) != test.wantPassed {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
		})
	}
}
