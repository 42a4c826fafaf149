package cert

import (
	"context"
	"crypto/x509"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

// clocks is a cluster whose machines have clocks of their own: those of the API servers and of the replicas are off by
// a constant, but for one replica, whose clock jumps.
type clocks struct {
	t        rapid.TB
	now      time.Time // the true time
	server   *counted
	servers  []time.Duration // by how much the clock of each API server is ahead
	replicas []*clocked
}

// clocked is a keeper with a clock of its own.
type clocked struct {
	*keeper
	ahead time.Duration
	serve *pair
}

func newClocks(t rapid.TB, servers, replicas []time.Duration) *clocks {
	t.Helper()
	o, err := ManagedOptions{Namespace: "ns", Name: "s", IPs: loopback, Validating: []string{"v"}, CRDs: []string{"c"}, Logger: silent}.validated()
	if err != nil {
		t.Fatal(err)
	}
	w := &clocks{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), servers: servers, server: &counted{objects: map[string]*unstructured.Unstructured{}}}
	for _, x := range o.targets() {
		w.server.objects[x.name] = (&world{}).blank(x)
	}
	for _, ahead := range replicas {
		r := &clocked{ahead: ahead}
		r.keeper = &keeper{
			core: core{ManagedOptions: o}, targets: o.targets(), api: w.server, log: silent,
			template: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s"}},
			now:      func() time.Time { return w.now.Add(r.ahead) },
			load:     func(p *pair) { r.serve = p },
		}
		w.replicas = append(w.replicas, r)
	}
	return w
}

// pass lets time go by, and then each replica look after its certificate until nothing is due at once.
func (w *clocks) pass(d time.Duration) {
	w.t.Helper()
	w.now = w.now.Add(d)
	for range 6 { // a new CA needs a few passes, and the settling time
		for _, r := range w.replicas {
			if _, err := r.pass(context.Background()); err != nil {
				w.t.Fatal(err)
			}
		}
		w.now = w.now.Add(defaultSettle)
	}
}

// check is the property: each API server trusts the certificate of every replica, by its own clock.
func (w *clocks) check() {
	w.t.Helper()
	o := w.replicas[0].ManagedOptions
	for s, ahead := range w.servers {
		for n, r := range w.replicas {
			for _, x := range o.targets() {
				pool := x509.NewCertPool()
				state := o.inspect(w.server.objects[x.name], nil)
				for _, bundle := range state.bundles {
					pool.AppendCertsFromPEM(bundle)
				}
				if _, err := r.serve.cert.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "127.0.0.1", CurrentTime: w.now.Add(ahead)}); err != nil {
					w.t.Fatalf("%v: API server %d, %v ahead, does not trust what replica %d, %v ahead, serves to %v: %v", w.now, s, ahead, n, r.ahead, x, err)
				}
			}
		}
	}
}

// Clocks that differ by up to a day are as good as equal ones, at all times of a certificate's life.
func TestClocksThatDifferByADay(t *testing.T) {
	for _, ahead := range []time.Duration{time.Minute, time.Hour, 2 * time.Hour, 14 * time.Hour, day} {
		for _, sign := range []time.Duration{1, -1} {
			for _, both := range []bool{false, true} {
				t.Run(fmt.Sprint(sign*ahead, both), func(t *testing.T) {
					// The replicas differ among each other, or all of them from the server.
					servers, replicas := []time.Duration{sign * ahead}, []time.Duration{0, 0}
					if both {
						servers, replicas = []time.Duration{0, sign * ahead}, []time.Duration{0, sign * ahead}
					}
					w := newClocks(t, servers, replicas)
					const life, step = 530 * day, 10 * day
					for gone := time.Duration(0); gone < life; gone += step {
						w.pass(0)
						w.check()
						w.now = w.now.Add(step)
						w.check() // before anybody has looked
					}
					issued, founded := 0, 0
					for _, r := range w.replicas {
						issued, founded = issued+int(r.stats.Issued), founded+int(r.stats.Founded)
					}
					// A certificate is replaced after 60 days, and when a CA is, after 243 days.
					if want := 1 + int(life/(60*day+step)) + founded; issued > want+3 || issued < int(life/(60*day+2*step)) {
						t.Errorf("%d certificates in %v, want about %d", issued, life, want)
					}
					if founded != 3 {
						t.Errorf("%d CAs in %v, want one in 243 days", founded, life)
					}
					if n := len(parseState(w.server.kept).bundle); n > 3 {
						t.Errorf("%d CAs are trusted", n)
					}
				})
			}
		}
	}
}

// The clock of a machine jumps, by a minute or by years, and is right again later. Whatever was made meanwhile, the API
// servers trust every replica as soon as the bundle has settled, and no CA of a time to come remains.
func TestClocksThatJump(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		near := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(-12*60, 12*60).Draw(t, "minutes")) * time.Minute
		})
		far := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.SampledFrom([]int{-56 * 365, -400, -80, -2, 2, 80, 400, 3 * 365}).Draw(t, "days")) * day
		})
		servers := rapid.SliceOfN(near, 1, 2).Draw(rt, "servers")
		replicas := rapid.SliceOfN(near, 1, 3).Draw(rt, "replicas")
		w := newClocks(rt, servers, replicas)
		if rapid.Bool().Draw(rt, "there before") {
			w.pass(0)
			w.check()
		}
		for range rapid.IntRange(1, 3).Draw(rt, "jumps") {
			wild := w.replicas[rapid.IntRange(0, len(replicas)-1).Draw(rt, "replica")]
			right := wild.ahead
			wild.ahead = far.Draw(rt, "jump")
			for range rapid.IntRange(1, 5).Draw(rt, "passes") {
				w.pass(defaultPoll)
			}
			wild.ahead = right
			w.pass(defaultPoll)
			w.check()
			if n := len(parseState(w.server.kept).bundle); n > 5 {
				rt.Fatalf("%d CAs are trusted", n)
			}
			if rapid.Bool().Draw(rt, "later") {
				w.pass(20 * day)
				w.check()
			}
		}
	})
}
