package flyball

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/event"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/ops/leader"
)

// While 500 writes wait under the rate limit of the client for longer than a lease lasts, the lease is renewed, a kind
// that is opened syncs, and events are sent.
func TestWritesThatWaitHoldUpNothingElse(t *testing.T) {
	tier.NotShort(t, "starts an API server")
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		const ns = "default"
		p := apiserver.Start(t, apiserver.Options{InMemory: true})
		m, err := New(Options{
			Name: "shop", Config: p.RESTConfig(), Client: client.Options{QPS: 0.01, Burst: 1},
			Leader: &leader.Options{Namespace: ns, LeaseDuration: 15 * time.Minute, RetryPeriod: time.Minute},
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := ran(t, m)
		eventually(t, "it leads", m.Leading)

		ctx, cancel := context.WithCancel(t.Context())
		var writes sync.WaitGroup
		var written atomic.Int64
		for i := range 500 {
			writes.Go(func() {
				if _, err := client.Create(ctx, m.Client(), testobj.ConfigMap(ns+"/"+fmt.Sprintf("order-%d", i))); err == nil {
					written.Add(1)
				}
			})
		}
		live, err := client.New(p.RESTConfig(), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		time.Sleep(time.Hour)
		l, err := client.Get[coordinationv1.Lease](ctx, live, object.Key{Namespace: ns, Name: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		if ago := time.Since(l.Spec.RenewTime.Time); ago > 2*time.Minute || !m.Leading() {
			t.Errorf("renewed %v ago; leads: %v", ago, m.Leading())
		}
		if _, err := m.Cache().Open(ctx, &corev1.ServiceAccount{}, client.Selection{Namespace: ns}); err != nil {
			t.Error(err)
		}
		sync, end := context.WithTimeout(ctx, 5*time.Minute)
		defer end()
		if err := m.Cache().WaitForSync(sync); err != nil {
			t.Errorf("a kind that was opened: %v", err)
		}
		about := testobj.ConfigMap(ns + "/orders")
		about.UID = "u1"
		m.Events().Event(about, event.Normal, "Waiting", "Wait", "for others")
		eventually(t, "the event is sent", func() bool {
			for _, err := range client.List[corev1.Event](ctx, live, client.InNamespace(ns)) {
				return err == nil
			}
			return false
		})
		if n := written.Load(); n == 0 || n > 100 || !m.Leading() {
			t.Errorf("%d of 500 writes did not wait; leads: %v", n, m.Leading())
		}
		cancel()
		writes.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
