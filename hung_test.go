package flyball

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
	"github.com/flyball-io/flyball/run"
)

// hanging is a transport whose requests do not return from some moment on, whatever becomes of them.
type hanging struct {
	next http.RoundTripper
	on   *atomic.Bool
	stop chan struct{}
}

func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.on.Load() {
		<-h.stop
	}
	return h.next.RoundTrip(r)
}

// A transport that hangs, from the start or later, holds up neither the stop nor the loss of the lease. Run
// says that goroutines are left.
func TestHungTransportDelaysNeitherLossNorStop(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		atStart bool
		cancels bool
		lost    bool
	}{
		"from the start, stopped":      {atStart: true, cancels: true},
		"while leading, stopped":       {cancels: true},
		"while leading, never stopped": {lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLeaseServer(t)
			h := hanging{on: new(atomic.Bool), stop: make(chan struct{})}
			h.on.Store(tc.atStart)
			cfg := &rest.Config{Host: s.URL, WrapTransport: func(rt http.RoundTripper) http.RoundTripper {
				h := h
				h.next = rt
				return h
			}}
			m, err := New(Options{
				Name: "shop", Config: cfg, Client: s.client(), GracePeriod: 100 * time.Millisecond,
				Leader: &leader.Options{Namespace: "shop", Identity: "me", LeaseDuration: 3 * time.Second},
			})
			if err != nil {
				t.Fatal(err)
			}
			leads := make(chan struct{})
			if _, err := m.Add(Lead, "work", func(ctx context.Context) error {
				close(leads)
				for ctx.Err() == nil {
					_, _ = client.Get[coordinationv1.Lease](ctx, m.Live(), object.Key{Namespace: "shop", Name: "x"})
					_ = run.Sleep(ctx, 10*time.Millisecond)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := make(chan error, 1)
			go func() { out <- m.Run(ctx) }()
			if !tc.atStart {
				select {
				case <-leads:
				case <-time.After(time.Minute):
					t.Fatal("no leader")
				}
				h.on.Store(true)
			}
			if tc.cancels {
				time.AfterFunc(300*time.Millisecond, cancel)
			}
			select {
			case err = <-out:
			case <-time.After(time.Minute):
				t.Fatal("Run has not returned")
			}
			close(h.stop)
			if !errors.Is(err, ErrTransportHung) {
				t.Errorf("Run does not say that a goroutine is left: %v", err)
			}
			if _, lost := errors.AsType[*leader.LostError](err); lost != tc.lost {
				t.Errorf("Run: %v", err)
			}
		})
	}
}
