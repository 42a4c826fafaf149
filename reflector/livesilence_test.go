package reflector_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/test/servertest"
)

// What the server says does not arrive any more, on connections that stay open. It is noticed in
// 45 s, and once new connections work everything is there.
func TestSilentServerIsNoticed(t *testing.T) {
	tier.Audit(t, "waits for silence by the real clock")
	p := servertest.Shared(t)
	direct := dial(t, p)
	for name, protocols := range map[string][]string{"http1": {"http/1.1"}, "http2": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := servertest.Namespace(t, p)
			address, err := url.Parse(p.URL())
			must(t, err)
			proxy, err := faults.NewProxy(address.Host)
			must(t, err)
			t.Cleanup(func() { proxy.Close() })
			config := p.RESTConfig()
			config.Host = "https://" + proxy.Addr()
			config.NextProtos = protocols
			c, err := client.New(config, client.Options{})
			must(t, err)
			t.Cleanup(c.Close)

			sink, r := follow(t, c, configMaps, ns, reflector.Options{})
			awaitTruth(t, "first list", direct, sink, r, ns)
			proxy.Blackhole(faults.Down)
			start := time.Now()
			_, err = client.Create(t.Context(), direct, configMap(ns, "unseen", "1"))
			must(t, err)
			sink.await(t, "silence", r, func(_ map[string]string, s reflector.State) bool {
				return s.Phase == reflector.Stale
			})
			if d := time.Since(start); d > 2*time.Minute { // not by the end of the watch, which is after five or more
				t.Errorf("noticed after %v", d)
			}
			proxy.Heal()
			awaitTruth(t, "after the silence", direct, sink, r, ns)
			t.Logf("in sync again after %v, %+v", time.Since(start).Round(time.Second), r.State())
			if s := r.State(); len(s.Relists) != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}
