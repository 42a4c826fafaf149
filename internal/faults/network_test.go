package faults_test

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/reflector"
	"github.com/flyball-io/flyball/test/servertest"
)

// proxied returns a configuration that goes through a proxy, and the proxy.
func proxied(t *testing.T, p *servertest.Server) (*faults.Proxy, *rest.Config) {
	t.Helper()
	cfg := p.RESTConfig()
	return proxyOf(t, cfg), cfg
}

// proxyOf puts a proxy into a configuration.
func proxyOf(t *testing.T, cfg *rest.Config) *faults.Proxy {
	t.Helper()
	var proxy *faults.Proxy
	if inBubble() {
		proxy = faults.NewPipeProxy(cfg.Dial)
		cfg.Dial = proxy.Dial
	} else {
		address, err := url.Parse(cfg.Host)
		must(t, err)
		proxy, err = faults.NewProxy(address.Host)
		must(t, err)
		address.Host = proxy.Addr()
		cfg.Host = address.String()
	}
	t.Cleanup(func() { proxy.Close() })
	return proxy
}

// No bytes arrive any more, on connections that stay open.
func TestFault02SilentWatch(t *testing.T) {
	for name, protocols := range map[string][]string{"http1": {"http/1.1"}, "http2": nil} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, p *servertest.Server) {
				proxy, cfg := proxied(t, p)
				cfg.NextProtos = protocols
				r := start(t, p, setup{config: cfg, tune: sooner})
				proxy.Blackhole(faults.Down)
				silent := time.Now()
				r.during(func() {
					r.await("noticed", func(s reflector.State) bool { return s.Phase == reflector.Stale })
				})
				if d := time.Since(silent); d > silenceNoticed() {
					t.Errorf("noticed after %v", d)
				}
				proxy.Heal()
				r.nothingLost()
				if n := len(r.watch().Relists); n != 1 || r.lists() != 0 {
					t.Errorf("lists: %v", r.watch().Relists)
				}
			})
		})
	}
}

// The server ends every watch after two or three seconds, and connections break in between. A watch that lasts less than
// a second has failed, and a loaded machine opens it late.
func TestFault04WatchClosedEveryFewSeconds(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		proxy, cfg := proxied(t, p)
		r := start(t, p, setup{config: cfg, tune: func(c *reflector.Options) {
			c.MinTimeout, c.MaxTimeout = 2*time.Second, 3*time.Second
		}})
		r.during(func() {
			ends := func(s reflector.State) int { return s.Restarts["ended"] }
			breaks := func(s reflector.State) int { return s.Restarts["broken"] }
			r.await("ends of watches", func(s reflector.State) bool { return ends(s) >= 4 })
			for range 3 {
				broken := breaks(r.watch())
				for breaks(r.watch()) == broken { // between two watches there is nothing to break
					ended := ends(r.watch())
					proxy.Reset()
					r.await("a break, or an end", func(s reflector.State) bool { return breaks(s) > broken || ends(s) > ended })
				}
				r.await("sync", func(s reflector.State) bool { return s.Phase == reflector.Synced })
			}
		})
		r.nothingLost()
		if n := len(r.watch().Relists); n != 1 || r.lists() != 0 {
			t.Errorf("lists: %v", r.watch().Relists)
		}
	})
}

// The server ends every watch as soon as it is open. That is a failure, and the pauses grow.
func TestFault04WatchClosedAtOnce(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		g, r := behind(t, p, setup{tune: func(c *reflector.Options) {
			c.MinBackoff, c.MaxBackoff = 200*time.Millisecond, 2*time.Second
		}})
		g.Seen()
		g.Renew(func(w http.ResponseWriter, req *http.Request) bool {
			if isWatch(req) {
				w.Header().Set("Content-Type", "application/json")
			}
			return isWatch(req)
		})
		began := time.Now()
		r.during(func() {
			r.await("a few of them", func(s reflector.State) bool { return s.Restarts["ended"] >= 4 })
		})
		if s := r.watch(); s.Phase != reflector.Stale || s.Err == nil {
			t.Errorf("a watch that yields nothing is %v, %v", s.Phase, s.Err)
		}
		took := time.Since(began)
		if n := len(g.Seen()); n > 8+int(took/(500*time.Millisecond)) { // in the end a second apart, on average
			t.Errorf("%d requests in %v", n, took)
		}
		g.Break(nil)
		r.nothingLost()
		if n := len(r.watch().Relists); n != 1 {
			t.Errorf("lists: %v", r.watch().Relists)
		}
	})
}

// The stream ends within a frame, at several offsets.
func TestFault05CutInTheMiddleOfAFrame(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		gateway := gatewayTo(t, p) // speaks plain HTTP, so that bytes are bytes of frames
		cfg := gateway.Config()
		proxy := proxyOf(t, cfg)
		r := start(t, p, setup{config: cfg, tune: steady})
		for n := range pick[int64](200, 8) {
			proxy.CutAfter(151 + 37*n)
			cuts := proxy.Cuts()
			r.during(func() { await(t, "a cut", func() bool { return proxy.Cuts() > cuts }) })
		}
		r.nothingLost()
		lists := r.watch().Relists // after many cuts in a row a list catches up
		if lists["first"]+lists["behind"] != sum(lists) || len(r.reported()) != 0 || r.watch().Restarts["broken"] < 4 {
			t.Errorf("lists: %v, restarts: %v, reported: %v", lists, r.watch().Restarts, r.reported())
		}
	})
}

// The first list is cut at several offsets. No observer sees a part of it, and in the end every
// object is there once.
func TestFault05CutInTheFirstList(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		gateway := gatewayTo(t, p)
		cfg := gateway.Config()
		proxy := proxyOf(t, cfg)
		r := start(t, p, setup{})
		cut := int32(0)
		gateway.Break(func(_ http.ResponseWriter, req *http.Request) bool {
			if isStream(req) || isList(req) {
				if n := atomic.AddInt32(&cut, 1); n < pick[int32](40, 6) {
					proxy.CutAfter(int64(1000 + 333*n))
				}
			}
			return false
		})
		for _, paged := range []bool{false, true} {
			atomic.StoreInt32(&cut, 0)
			onceListed(t, r, cfg, func(c *reflector.Options) {
				steady(c)
				c.Paged = paged
			})
			if n := atomic.LoadInt32(&cut); n < 2 {
				t.Errorf("%d lists", n)
			}
		}
		r.nothingLost()
	})
}

// Connections are refused, as by a machine without a server.
func TestFault11ConnectionRefused(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		proxy, cfg := proxied(t, p)
		r := start(t, p, setup{config: cfg})
		began := time.Now()
		proxy.Refuse()
		r.during(func() {
			r.await("stale", func(s reflector.State) bool { return s.Phase == reflector.Stale && s.Err != nil })
			pass(t.Context(), span(3*time.Minute, 6*time.Second))
		})
		if err := r.reads(); err != nil {
			t.Errorf("a read while the server is away: %v", err)
		}
		// 0.8 s doubling to 30 s, each drawn from zero up to that
		if n := len(r.asked.since(began)); n > pick(60, 30) {
			t.Errorf("%d requests to a server that is away", n)
		}
		proxy.Heal()
		r.nothingLost()
		lists := r.watch().Relists // a server forgets the changes of minutes
		if lists["expired"] > 1 || lists["first"]+lists["expired"] != sum(lists) {
			t.Errorf("lists: %v", lists)
		}
	})
}

// The network is partitioned for minutes, and heals.
func TestFault20Partition(t *testing.T) {
	world(t, func(t *testing.T, p *servertest.Server) {
		proxy, cfg := proxied(t, p)
		r := start(t, p, setup{config: cfg, tune: sooner, keys: 200})
		proxy.Blackhole(faults.Up, faults.Down)
		r.during(func() {
			r.await("noticed", func(s reflector.State) bool { return s.Phase == reflector.Stale })
			pass(t.Context(), span(5*time.Minute, 4*time.Second))
		})
		healed := time.Now()
		proxy.Heal()
		r.nothingLost()
		burst := r.asked.since(healed)
		if len(burst) > 10 {
			t.Errorf("%d requests after the network healed", len(burst))
		}
	})
}

// A program that is told to stop while the server is silent does so.
func TestFault20StopWhileAway(t *testing.T) {
	for name, breaks := range map[string]func(*faults.Proxy){
		"silent":  func(p *faults.Proxy) { p.Blackhole(faults.Up, faults.Down) },
		"refused": (*faults.Proxy).Refuse,
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, p *servertest.Server) {
				proxy, cfg := proxied(t, p)
				r := start(t, p, setup{config: cfg, tune: sooner})
				breaks(proxy)
				r.churn(20)
				began := time.Now()
				// docs/faults.md promises two seconds; those of a busy machine count for less
				if err := r.stop(); err != nil || time.Since(began) > span(2*time.Second, 30*time.Second) {
					t.Errorf("%v, after %v", err, time.Since(began))
				}
			})
		})
	}
}

// steady retries soon, however often it failed.
func steady(c *reflector.Options) {
	c.MinBackoff, c.MaxBackoff = 100*time.Millisecond, 100*time.Millisecond
}

// sum returns how many lists, or restarts, there were for any reason.
func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
