package backoff_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/backoff"
	"github.com/flyball-io/flyball/internal/jitter"
	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
)

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func TestDelayIsExponentialAndBounded(t *testing.T) {
	const ms = time.Millisecond
	watch := backoff.Policy{Base: 800 * ms, Max: 30 * time.Second, Jitter: 1}
	for _, tc := range []struct {
		name     string
		p        backoff.Policy
		failures int
		random   float64
		want     time.Duration
	}{
		{"zero value", backoff.Policy{}, 5, 0, 0},
		{"no failure", backoff.Policy{Base: ms}, 0, 0, 0},
		{"negative failures", backoff.Policy{Base: ms}, -3, 0, 0},
		{"negative base", backoff.Policy{Base: -ms}, 3, 0, 0},
		{"first", backoff.Policy{Base: 5 * ms}, 1, 0.9, 5 * ms},
		{"doubles by default", backoff.Policy{Base: 5 * ms}, 4, 0, 40 * ms},
		{"factor", backoff.Policy{Base: 5 * ms, Factor: 3}, 3, 0, 45 * ms},
		{"factor below one is constant", backoff.Policy{Base: 5 * ms, Factor: 0.5}, 9, 0, 5 * ms},
		{"negative factor is constant", backoff.Policy{Base: 5 * ms, Factor: -2}, 9, 0, 5 * ms},
		{"cap", backoff.Policy{Base: 5 * ms, Max: 1000 * time.Second}, 19, 0, 1000 * time.Second},
		{"cap below base", backoff.Policy{Base: time.Second, Max: ms}, 1, 0, ms},
		{"cap, very many failures", backoff.Policy{Base: ms, Max: time.Second}, math.MaxInt, 0, time.Second},
		{"cap that a float64 rounds up", backoff.Policy{Base: 1, Max: 1<<53 + 3}, 92, 0, 1<<53 + 3},
		{"a factor that is no number", backoff.Policy{Base: ms, Factor: math.NaN(), Max: time.Second}, 2, 0, time.Second},
		{"no cap does not overflow", backoff.Policy{Base: ms}, math.MaxInt, 0, math.MaxInt64},
		{"full jitter, low draw", watch, 2, 0, 1600 * ms},
		{"full jitter, half", watch, 2, 0.5, 800 * ms},
		{"full jitter at the cap", watch, 20, 0.5, 15 * time.Second},
		{"a fifth", backoff.Policy{Base: time.Second, Jitter: 0.2}, 1, 0.5, 900 * ms},
		{"jitter above one is full", backoff.Policy{Base: time.Second, Jitter: 7}, 1, 0.75, 250 * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.p.Delay(tc.failures, tc.random); got != tc.want {
				t.Errorf("Delay(%d, %v) = %v, want %v", tc.failures, tc.random, got, tc.want)
			}
		})
	}
}

func TestDelayStaysWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := backoff.Policy{
			Base:   time.Duration(rapid.Int64().Draw(t, "base")),
			Factor: rapid.Float64().Draw(t, "factor"),
			Max:    time.Duration(rapid.Int64().Draw(t, "max")),
			Jitter: rapid.Float64().Draw(t, "jitter"),
		}
		d := p.Delay(rapid.Int().Draw(t, "failures"), rapid.Float64Range(0, 0.999).Draw(t, "random"))
		if d < 0 || p.Max > 0 && d > p.Max {
			t.Fatalf("%+v: %v", p, d)
		}
	})
}

func TestBackoffCountsAndResets(t *testing.T) {
	b := backoff.Backoff{Policy: backoff.Policy{Base: time.Second, Max: 8 * time.Second, ResetAfter: time.Minute}}
	now := epoch
	fail := func(after, want time.Duration) {
		t.Helper()
		now = now.Add(after)
		if got := b.Fail(now); got != want {
			t.Errorf("after %v: %v, want %v (failures %d)", after, got, want, b.Failures())
		}
		if now = now.Add(want); b.Until != now { // wait for the whole delay
			t.Errorf("the delay ends at %v, want %v", b.Until, now)
		}
	}
	fail(0, time.Second)
	fail(0, 2*time.Second)
	fail(59*time.Second, 4*time.Second)
	fail(59*time.Second, 8*time.Second)
	fail(0, 8*time.Second)
	fail(time.Minute, time.Second) // a minute without failure, after the delay
	fail(0, 2*time.Second)
	b.Reset()
	if b.Failures() != 0 || !b.Until.IsZero() {
		t.Errorf("Failures after Reset = %d, until %v", b.Failures(), b.Until)
	}
	fail(0, time.Second)
	now = now.Add(time.Hour)
	b.Until = now // moved: the failures in a row go on
	fail(0, 2*time.Second)
}

func TestBackoffJitters(t *testing.T) {
	defer jitter.Simulate()()
	synctest.Test(t, func(t *testing.T) {
		b := backoff.Backoff{Policy: backoff.Policy{Base: time.Second, Jitter: 1}}
		for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
			if d := b.Fail(epoch); d != want {
				t.Errorf("delay %d: %v, want %v", i+1, d, want)
			}
		}
	})
}

func TestBucketWaits(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name string
		b    backoff.Bucket
		at   []time.Duration // since epoch
		want []time.Duration
	}{
		{"zero value limits nothing", backoff.Bucket{}, []time.Duration{0, 0, 0}, []time.Duration{0, 0, 0}},
		{"negative rate", backoff.Bucket{Rate: -1}, []time.Duration{0, 0}, []time.Duration{0, 0}},
		{"infinite rate", backoff.Bucket{Rate: math.Inf(1)}, []time.Duration{0, 0}, []time.Duration{0, 0}},
		{"burst, then the rate", backoff.Bucket{Rate: 10, Burst: 2},
			[]time.Duration{0, 0, 0, 0}, []time.Duration{0, 0, 100 * ms, 200 * ms}},
		{"no burst is one", backoff.Bucket{Rate: 10},
			[]time.Duration{0, 0, 0}, []time.Duration{0, 100 * ms, 200 * ms}},
		{"refills with time", backoff.Bucket{Rate: 10, Burst: 2},
			[]time.Duration{0, 0, 150 * ms, 150 * ms}, []time.Duration{0, 0, 0, 50 * ms}},
		{"never above the burst", backoff.Bucket{Rate: 10, Burst: 2},
			[]time.Duration{0, time.Hour, time.Hour, time.Hour}, []time.Duration{0, 0, 0, 100 * ms}},
		{"a clock that steps back", backoff.Bucket{Rate: 10, Burst: 1},
			[]time.Duration{time.Second, 0}, []time.Duration{0, 1100 * ms}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, at := range tc.at {
				if got := tc.b.Reserve(epoch.Add(at)); got != tc.want[i] {
					t.Errorf("call %d at %v: %v, want %v", i, at, got, tc.want[i])
				}
			}
		})
	}
}

func TestBucketTinyRateDoesNotOverflow(t *testing.T) {
	b := backoff.Bucket{Rate: 1e-30, Burst: math.MaxInt}
	for range 10 {
		if d := b.Reserve(epoch); d != 0 {
			t.Fatalf("within the burst: %v", d)
		}
	}
	b = backoff.Bucket{Rate: 1e-30}
	last := time.Duration(-1)
	for range 10 {
		d := b.Reserve(epoch)
		if d < last {
			t.Fatalf("%v after %v", d, last)
		}
		last = d
	}
}

// In every window of length T, at most Burst + Rate·T tokens become usable.
func TestBucketKeepsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 1000).Draw(t, "rate")
		burst := rapid.IntRange(1, 20).Draw(t, "burst")
		b := backoff.Bucket{Rate: float64(rate), Burst: burst}
		now := epoch
		var usable []time.Time
		for _, step := range rapid.SliceOfN(rapid.Int64Range(0, int64(50*time.Millisecond)), 1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(step))
			usable = append(usable, now.Add(b.Reserve(now)))
		}
		for i := range usable {
			for j := i; j < len(usable); j++ {
				window := usable[j].Sub(usable[i]) + time.Microsecond
				if n := j - i + 1; float64(n) > float64(burst)+float64(rate)*window.Seconds()+0.01 {
					t.Fatalf("%d tokens in %v at %d/s with burst %d", n, window, rate, burst)
				}
			}
		}
	})
}

func TestTryTakeTakesOnlyAvailableTokens(t *testing.T) {
	b := backoff.Bucket{Rate: 1, Burst: 2}
	for i, want := range []bool{true, true, false, false} {
		if got := b.TryTake(epoch); got != want {
			t.Errorf("take %d = %v", i, got)
		}
	}
	if !b.TryTake(epoch.Add(time.Second)) {
		t.Error("refused takes used up the refill")
	}
	unlimited := backoff.Bucket{}
	if !unlimited.TryTake(epoch) {
		t.Error("no limit, yet refused")
	}
}

// How long does a watch wait that keeps failing, and when does its backoff reset?
func ExampleBackoff() {
	b := backoff.Backoff{Policy: backoff.Policy{Base: 800 * time.Millisecond, Max: 30 * time.Second, ResetAfter: 2 * time.Minute}}
	now := epoch
	for range 7 {
		d := b.Fail(now)
		fmt.Println(d)
		now = now.Add(d)
	}
	fmt.Println("healthy for 2m:", b.Fail(now.Add(2*time.Minute)))
	// Output:
	// 800ms
	// 1.6s
	// 3.2s
	// 6.4s
	// 12.8s
	// 25.6s
	// 30s
	// healthy for 2m: 800ms
}

func ExampleBucket() {
	b := backoff.Bucket{Rate: 10, Burst: 2}
	now := epoch
	fmt.Println(b.Reserve(now), b.Reserve(now), b.Reserve(now))
	// Output: 0s 0s 100ms
}
