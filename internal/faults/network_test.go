package faults_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/plane"
	"github.com/flyball-io/flyball/plane/planetest"
	"github.com/flyball-io/flyball/reflector"
)

// proxied is a way to the control plane through a proxy that breaks bytes.
func proxied(t *testing.T, p *plane.Plane) (*faults.Proxy, *rest.Config) {
	t.Helper()
	address, err := url.Parse(p.URL())
	must(t, err)
	proxy, err := faults.NewProxy(address.Host)
	must(t, err)
	t.Cleanup(func() { proxy.Close() })
	cfg := p.RESTConfig()
	cfg.Host = "https://" + proxy.Addr()
	return proxy, cfg
}

// Nothing comes any more, on connections that stay open and look well.
func TestFault02SilentWatch(t *testing.T) {
	p := planetest.Shared(t)
	for name, protocols := range map[string][]string{"http1": {"http/1.1"}, "http2": nil} {
		t.Run(name, func(t *testing.T) {
			proxy, cfg := proxied(t, p)
			cfg.NextProtos = protocols
			r := start(t, p, setup{config: cfg, tune: sooner})
			proxy.Blackhole(faults.Down)
			silent := time.Now()
			r.during(func() {
				r.await("noticed", func(s reflector.State) bool { return s.Phase == reflector.Stale })
			})
			if d := time.Since(silent); d > pick(45*time.Second, 16*time.Second) {
				t.Errorf("noticed after %v", d)
			}
			proxy.Heal()
			r.nothingLost()
			if n := len(r.watch().Relists); n != 1 || r.asked.total()["list configmaps"] != 0 {
				t.Errorf("lists: %v", r.watch().Relists)
			}
		})
	}
}

// The server ends every watch after a second or two, and connections break in between.
func TestFault04WatchClosedEveryFewSeconds(t *testing.T) {
	proxy, cfg := proxied(t, planetest.Shared(t))
	r := start(t, planetest.Shared(t), setup{config: cfg, tune: func(c *reflector.Config) {
		c.MinTimeout, c.MaxTimeout = time.Second, 2*time.Second
	}})
	r.during(func() {
		ends := func(s reflector.State) int { return s.Restarts[reflector.Ended] }
		r.await("ends of watches", func(s reflector.State) bool { return ends(s) >= 4 })
		for range 3 {
			broken := r.watch().Restarts[reflector.Broken]
			proxy.Reset()
			r.await("a break", func(s reflector.State) bool {
				return s.Restarts[reflector.Broken] > broken && s.Phase == reflector.Synced
			})
		}
	})
	r.nothingLost()
	if n := len(r.watch().Relists); n != 1 || r.asked.total()["list configmaps"] != 0 {
		t.Errorf("lists: %v", r.watch().Relists)
	}
}

// The stream ends in the middle of a frame, at every which byte.
func TestFault05CutInTheMiddleOfAFrame(t *testing.T) {
	p := planetest.Shared(t)
	gateway := gatewayTo(t, p) // speaks plain HTTP, so that bytes are those of frames
	proxy, err := faults.NewProxy(gateway.Config().Host[len("http://"):])
	must(t, err)
	t.Cleanup(func() { proxy.Close() })
	r := start(t, p, setup{config: &rest.Config{Host: "http://" + proxy.Addr()}, tune: steady})
	for n := range pick[int64](200, 8) {
		broken := r.watch().Restarts[reflector.Broken]
		proxy.CutAfter(151 + 37*n)
		r.churn(8) // more than that
		r.await("the cut", func(s reflector.State) bool { return s.Restarts[reflector.Broken] > broken })
	}
	r.nothingLost()
	if n := len(r.watch().Relists); n != 1 || len(r.reported()) != 0 {
		t.Errorf("lists: %v, reported: %v", r.watch().Relists, r.reported())
	}
}

// Connections are refused, as by a machine on which no server runs.
func TestFault11ConnectionRefused(t *testing.T) {
	proxy, cfg := proxied(t, planetest.Shared(t))
	r := start(t, planetest.Shared(t), setup{config: cfg})
	began := time.Now()
	proxy.Refuse()
	r.during(func() {
		r.await("stale", func(s reflector.State) bool { return s.Phase == reflector.Stale && s.Err != nil })
		outage, cancel := context.WithTimeout(t.Context(), pick(3*time.Minute, 6*time.Second))
		defer cancel()
		<-outage.Done()
	})
	if _, err := client.Get[corev1.ConfigMap](t.Context(), r.mgr.Client(), r.any()); err != nil {
		t.Errorf("a read while the server is away: %v", err)
	}
	// 0.8 s doubling to 30 s, each drawn from zero up to that.
	if n := len(r.asked.since(began)); n > pick(60, 30) {
		t.Errorf("%d requests to a server that is away", n)
	}
	proxy.Heal()
	r.nothingLost()
	if n := len(r.watch().Relists); n != 1 {
		t.Errorf("lists: %v", r.watch().Relists)
	}
}

// The network is split for minutes, and heals.
func TestFault20Partition(t *testing.T) {
	proxy, cfg := proxied(t, planetest.Shared(t))
	r := start(t, planetest.Shared(t), setup{config: cfg, tune: sooner, keys: 200})
	proxy.Blackhole(faults.Up, faults.Down)
	r.during(func() {
		r.await("noticed", func(s reflector.State) bool { return s.Phase == reflector.Stale })
		outage, cancel := context.WithTimeout(t.Context(), pick(5*time.Minute, 4*time.Second))
		defer cancel()
		<-outage.Done()
	})
	healed := time.Now()
	proxy.Heal()
	r.nothingLost()
	burst := r.asked.since(healed)
	if len(burst) > 10 {
		t.Errorf("%d requests after the network healed", len(burst))
	}
}

// steady tries again soon, however often it failed.
func steady(c *reflector.Config) {
	c.Backoff.Base, c.Backoff.Factor, c.Backoff.Max = 50*time.Millisecond, 1, 100*time.Millisecond
}
