package client

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/wire"
)

// A request never waits longer than MaxRetryAfter, in whatever form the server asks.
func TestRetryAfterIsBounded(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for name, tt := range map[string]struct {
		code   int
		header func() string
		max    time.Duration
		want   time.Duration
	}{
		"429, a day":                {429, func() string { return "86400" }, 0, time.Minute},
		"503, an hour":              {503, func() string { return "3600" }, 0, time.Minute},
		"429, a date":               {429, func() string { return in(24 * time.Hour) }, 0, time.Minute},
		"429, more than time holds": {429, func() string { return "99999999999999999999999" }, 0, time.Minute},
		"429, less":                 {429, func() string { return "7" }, 0, 7 * time.Second},
		"429, an option":            {429, func() string { return "7" }, 2 * time.Second, 2 * time.Second},
		"429, no bound":             {429, func() string { return "7200" }, -1, 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				reason := metav1.StatusReasonTooManyRequests
				if tt.code == 503 {
					reason = metav1.StatusReasonServiceUnavailable
				}
				f.on("POST /api/v1/namespaces/web/pods", inTurn(status(tt.code, reason, tt.header()), reply(pod("x"), podGVK)))
				var told time.Duration
				c := f.client(Options{MaxRetryAfter: tt.max, Hook: func(d Done) {
					if d.Err != nil {
						told = d.Wait
					}
				}})
				start := time.Now()
				if _, err := Create(t.Context(), c, pod("x")); err != nil {
					t.Fatal(err)
				}
				took := time.Since(start)
				if took < tt.want || took > tt.want+tt.want/10+1 || told != took {
					t.Errorf("waited %v, want %v and up to a tenth more; the hook was told %v", took, tt.want, told)
				}
			})
		})
	}
}

// Feeds have the same bound. The error says what the server asks for and how long to wait.
func TestRetryAfterOfFeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.on("GET /api/v1/pods", status(429, metav1.StatusReasonTooManyRequests, "86400"))
		_, err := f.client(Options{}).Feed(podGVK, Selection{}).List(t.Context(), wire.ListQuery{})
		busy, ok := errors.AsType[*TooManyRequestsError](err)
		if d, _ := RetryAfter(err); !ok || d != time.Minute || busy.Asked != 24*time.Hour {
			t.Errorf("%v: asked %v", err, busy)
		}
		if want := "(the server asks to wait 24h0m0s; the client waits 1m0s)"; !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // the wait would end later
		defer cancel()
		f.on("POST /api/v1/namespaces/web/pods", status(429, metav1.StatusReasonTooManyRequests, "86400"))
		if _, err := Create(ctx, f.client(Options{}), pod("x")); !is[*TooManyRequestsError](err) || ctx.Err() != nil {
			t.Errorf("a deadline before the end of the wait: %v", err)
		}
	})
}
