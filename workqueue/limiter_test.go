package workqueue_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
	"github.com/flyball-io/flyball/workqueue"
)

func TestLimiterDelays(t *testing.T) {
	type L = workqueue.RateLimiter[string]
	type call struct {
		key  string
		at   time.Duration
		want time.Duration
	}
	for _, tc := range []struct {
		name    string
		limiter L
		calls   []call
	}{
		{"exponential", workqueue.ExponentialLimiter[string](ms, 10*ms), []call{
			{"a", 0, ms}, {"a", 0, 2 * ms}, {"b", 0, ms}, {"a", 0, 4 * ms}, {"a", 0, 8 * ms}, {"a", 0, 10 * ms}, {"a", 0, 10 * ms},
		}},
		{"fast, then slow", workqueue.FastSlowLimiter[string](ms, time.Second, 2), []call{
			{"a", 0, ms}, {"a", 0, ms}, {"b", 0, ms}, {"a", 0, time.Second}, {"a", 0, time.Second},
		}},
		{"bucket", workqueue.BucketLimiter[string](10, 2), []call{
			{"a", 0, 0}, {"b", 0, 0}, {"c", 0, 100 * ms}, {"a", 50 * ms, 150 * ms}, {"a", time.Second, 0},
		}},
		{"the longest of all", workqueue.MaxOf(
			workqueue.ExponentialLimiter[string](30*ms, time.Second), workqueue.BucketLimiter[string](10, 1)), []call{
			{"a", 0, 30 * ms}, {"b", 0, 100 * ms}, {"a", 10 * time.Second, 60 * ms},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for i, c := range tc.calls {
				if got := tc.limiter.When(c.key, epoch.Add(c.at)); got != c.want {
					t.Errorf("call %d, key %s at %v: %v, want %v", i, c.key, c.at, got, c.want)
				}
			}
		})
	}
}

func TestLimitersForget(t *testing.T) {
	for name, l := range map[string]workqueue.RateLimiter[string]{
		"exponential": workqueue.ExponentialLimiter[string](ms, time.Second),
		"fast slow":   workqueue.FastSlowLimiter[string](ms, time.Second, 1),
		"default":     workqueue.DefaultLimiter[string](),
	} {
		l.Forget("never seen")
		first := l.When("a", epoch)
		l.When("a", epoch)
		l.When("b", epoch)
		if n := l.NumRequeues("a"); n != 2 {
			t.Errorf("%s: NumRequeues = %d, want 2", name, n)
		}
		l.Forget("a")
		if a, b := l.NumRequeues("a"), l.NumRequeues("b"); a != 0 || b != 1 {
			t.Errorf("%s: after Forget a has %d, b has %d", name, a, b)
		}
		if again := l.When("a", epoch); again != first {
			t.Errorf("%s: first delay after Forget %v, want %v", name, again, first)
		}
	}
}

// The delay of a key doubles from 5 ms to 1000 s. All keys together get 10 a second after the first
// 100.
func TestDefaultLimiterHasTheFiguresOfClientGo(t *testing.T) {
	l := workqueue.DefaultLimiter[int]()
	now := epoch
	want := 5 * ms
	for range 30 {
		if got := l.When(1, now); got != want {
			t.Errorf("failure %d: %v, want %v", l.NumRequeues(1), got, want)
		}
		want = min(2*want, 1000*time.Second)
		now = now.Add(time.Second)
	}
	for key := range 100 {
		if got := l.When(100+key, now); got != 5*ms {
			t.Errorf("key %d of the burst: %v", key, got)
		}
	}
	for i := range 5 {
		if got, want := l.When(1000+i, now), time.Duration(i+1)*100*ms; got != want {
			t.Errorf("key %d after the burst: %v, want %v", i, got, want)
		}
	}
}

// TestTokensAreGivenBack: whatever has failed, recovered and failed again before, a failure waits for those keys only
// that still wait.
func TestTokensAreGivenBack(t *testing.T) {
	const rate = 10
	rapid.Check(t, func(t *rapid.T) {
		l := workqueue.BucketLimiter[int](rate, rapid.IntRange(1, 200).Draw(t, "burst"))
		keys := rapid.IntRange(1, 400).Draw(t, "keys")
		due := map[int]time.Time{}
		now := epoch
		for range rapid.IntRange(1, 40).Draw(t, "phases") {
			first, n := rapid.IntRange(0, keys-1).Draw(t, "first"), rapid.IntRange(1, keys).Draw(t, "n")
			does := rapid.SampledFrom([]string{"fail", "fail", "recover"}).Draw(t, "does")
			for i := range n {
				key := (first + i) % keys
				if does == "recover" {
					l.Forget(key)
					delete(due, key)
					continue
				}
				waiting := 0
				for k, end := range due {
					if k != key && end.After(now) {
						waiting++
					}
				}
				kept := due[key].After(now) // its place
				wait := l.When(key, now)
				if most := time.Duration(waiting+1) * time.Second / rate; !kept && wait > most {
					t.Fatalf("a failure waits %v while %d others wait", wait, waiting)
				}
				due[key] = now.Add(wait)
			}
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 50, 1000, 20000}).Draw(t, "ms")) * ms)
		}
	})
}

// Ten thousand keys fail once and recover by events. A later failure of one key does not wait for them.
func TestRecoveredKeysLeaveNoDebt(t *testing.T) {
	l := workqueue.DefaultLimiter[int]()
	for key := range 10_000 {
		l.When(key, epoch)
	}
	for key := range 10_000 {
		l.Forget(key)
	}
	if wait := l.When(1, epoch.Add(time.Second)); wait > 100*ms {
		t.Errorf("a single failure waits %v", wait)
	}
}
