package workqueue_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/workqueue"
)

const ms = time.Millisecond

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// script steps a Core by hand. Values are strings that merge by appending. Time stands still until
// pass is called.
type script struct {
	t    *testing.T
	core *workqueue.Core[string, string]
	now  time.Time
}

type addOptions = workqueue.AddOptions[string]

func newScript(t *testing.T, change ...func(*workqueue.Options[string, string])) *script {
	o := workqueue.Options[string, string]{
		Merge:       func(old, new string) string { return old + new },
		RateLimiter: workqueue.ExponentialLimiter[string](10*ms, time.Second),
		MaxWait:     -1,
	}
	for _, f := range change {
		f(&o)
	}
	core, err := workqueue.NewCore(o)
	if err != nil {
		t.Fatal(err)
	}
	return &script{t: t, core: core, now: epoch}
}

func (s *script) add(key string, o ...addOptions) {
	s.core.Add(key, append(o, addOptions{})[0], s.now)
}

func (s *script) done(key string)      { s.core.Done(key, s.now) }
func (s *script) pass(d time.Duration) { s.now = s.now.Add(d) }

// get hands out one item and returns it as "key", "key(priority)" or "key=value".
func (s *script) get() string {
	item, ok := s.core.Get(s.now)
	if !ok {
		return ""
	}
	text := item.Key
	if item.Priority != 0 {
		text += fmt.Sprintf("(%d)", item.Priority)
	}
	if item.Value != "" {
		text += "=" + item.Value
	}
	return text
}

// expect hands out all ready items, leaves them in flight, and compares their keys.
func (s *script) expect(want ...string) {
	s.t.Helper()
	var got []string
	for {
		text := s.get()
		if text == "" {
			break
		}
		got = append(got, text)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		s.t.Errorf("handed out %v, want %v", got, want)
	}
}

func (s *script) expectLen(want int) {
	s.t.Helper()
	if got := s.core.Len(s.now); got != want {
		s.t.Errorf("Len = %d, want %d", got, want)
	}
}

func TestCoreOrdersMergesAndDelays(t *testing.T) {
	prio := func(p int) addOptions { return addOptions{Priority: p} }
	after := func(d time.Duration) addOptions { return addOptions{After: d} }
	value := func(v string) addOptions { return addOptions{Value: v} }
	for _, tc := range []struct {
		name string
		run  func(s *script)
	}{
		{"in order of adding", func(s *script) {
			s.add("a")
			s.add("b")
			s.add("c")
			s.expect("a", "b", "c")
		}},
		{"the empty key is a key", func(s *script) {
			s.add("")
			s.expectLen(1)
		}},
		{"a key waits once", func(s *script) {
			s.add("a")
			s.add("b")
			s.add("a")
			s.expectLen(2)
			s.expect("a", "b")
		}},
		{"added in flight: once more, after Done", func(s *script) {
			s.add("a")
			s.expect("a")
			s.add("a")
			s.add("a")
			s.expectLen(0)
			s.expect()
			s.done("a")
			s.expectLen(1)
			s.expect("a")
			s.done("a")
			s.expect()
		}},
		{"added in flight: ready as of Done, behind earlier items", func(s *script) {
			s.add("a")
			s.expect("a")
			s.add("a")
			s.add("b")
			s.done("a")
			s.expect("b", "a")
		}},
		{"Done twice, and of keys never handed out", func(s *script) {
			s.done("x")
			s.add("a")
			s.done("a")
			s.expect("a")
			s.done("a")
			s.done("a")
			s.add("a")
			s.expect("a")
		}},
		{"values merge in order of adding", func(s *script) {
			s.add("a", value("1"))
			s.add("a", value("2"))
			s.add("a", addOptions{Value: "3", After: ms})
			s.expect("a=123")
		}},
		{"values of delayed adds merge", func(s *script) {
			s.add("a", addOptions{Value: "1", After: ms})
			s.add("a", addOptions{Value: "2", After: 2 * ms})
			s.pass(ms)
			s.expect("a=12")
		}},
		{"a value handed out is not handed out again", func(s *script) {
			s.add("a", value("1"))
			s.expect("a=1")
			s.add("a", value("2"))
			s.add("a", value("3"))
			s.done("a")
			s.expect("a=23")
		}},

		{"highest priority first, in order within one", func(s *script) {
			s.add("low", prio(-5))
			s.add("a")
			s.add("high", prio(9))
			s.add("b")
			s.add("high2", prio(9))
			s.expect("high(9)", "high2(9)", "a", "b", "low(-5)")
		}},
		{"raised: to the end of the new level", func(s *script) {
			s.add("a")
			s.add("b", prio(1))
			s.add("c", prio(1))
			s.add("a", prio(1))
			s.add("d", prio(1))
			s.expect("b(1)", "c(1)", "a(1)", "d(1)")
		}},
		{"raised over an empty level", func(s *script) {
			s.add("a")
			s.add("a", prio(1))
			s.add("a", prio(2))
			s.add("b", prio(1))
			s.expect("a(2)", "b(1)")
		}},
		{"a lower priority is ignored", func(s *script) {
			s.add("a", prio(5))
			s.add("b", prio(5))
			s.add("a", prio(1))
			s.expect("a(5)", "b(5)")
		}},
		{"raised while delayed", func(s *script) {
			s.add("a", after(ms))
			s.add("a", addOptions{After: time.Hour, Priority: 7})
			s.pass(ms)
			s.expect("a(7)")
		}},
		{"raised while in flight: the highest of the new adds", func(s *script) {
			s.add("a", prio(9))
			s.expect("a(9)")
			s.add("a", prio(2))
			s.add("a", prio(3))
			s.add("a", prio(1))
			s.add("b", prio(1))
			s.done("a")
			s.expect("a(3)", "b(1)")
		}},
		{"every int is a priority", func(s *script) {
			s.add("min", prio(math.MinInt))
			s.add("max", prio(math.MaxInt))
			s.expect(fmt.Sprintf("max(%d)", math.MaxInt), fmt.Sprintf("min(%d)", math.MinInt))
		}},

		{"delays of zero and less are now", func(s *script) {
			s.add("a", after(0))
			s.add("b", after(-time.Hour))
			s.expect("a", "b")
		}},
		{"delayed: not before its time, not in Len", func(s *script) {
			s.add("a", after(10*ms))
			s.expectLen(0)
			s.pass(10*ms - 1)
			s.expect()
			s.pass(1)
			s.expectLen(1)
			s.expect("a")
		}},
		{"the earlier of two delays", func(s *script) {
			s.add("a", after(10*ms))
			s.add("a", after(5*ms))
			s.add("b", after(5*ms))
			s.add("b", after(10*ms))
			s.pass(5 * ms)
			s.expect("a", "b") // equal due times: in order of the adds
			s.done("a")
			s.done("b")
			s.pass(time.Hour)
			s.expect()
		}},
		{"an add now cuts a delay", func(s *script) {
			s.add("a", after(time.Hour))
			s.add("a")
			s.expect("a")
			s.done("a")
			s.pass(2 * time.Hour)
			s.expect()
		}},
		{"a delayed add of a ready key changes nothing", func(s *script) {
			s.add("a")
			s.add("a", after(time.Hour))
			s.expect("a")
			s.done("a")
			s.pass(2 * time.Hour)
			s.expect()
		}},
		{"stamped when its time comes, not when looked at", func(s *script) {
			s.add("late", after(20*ms))
			s.add("early", after(10*ms))
			s.pass(15 * ms)
			s.add("now")
			s.pass(15 * ms)
			s.expect("early", "now", "late")
		}},
		{"a delay that ends in flight waits for Done", func(s *script) {
			s.add("a")
			s.expect("a")
			s.add("a", after(ms))
			s.pass(2 * ms)
			s.expect()
			s.done("a")
			s.expect("a")
		}},
		{"a delay that outlasts the work", func(s *script) {
			s.add("a")
			s.expect("a")
			s.add("a", after(10*ms))
			s.done("a")
			s.expect()
			s.pass(10 * ms)
			s.expect("a")
		}},
		{"the longest delay is not in the past", func(s *script) {
			s.expect() // sets the epoch
			s.pass(time.Hour)
			s.add("a", after(math.MaxInt64))
			s.pass(1000 * time.Hour)
			s.expect()
		}},
		{"a clock that steps back delays, and breaks nothing", func(s *script) {
			s.add("a")
			s.pass(-time.Hour)
			s.add("b")
			s.add("c", after(ms))
			s.expect("a", "b")
			s.pass(time.Hour + ms)
			s.expect("c")
		}},

		{"ShutDown: no adds, the ready are handed out, the delayed dropped", func(s *script) {
			s.add("ready")
			s.add("due", after(ms))
			s.add("delayed", after(time.Hour))
			s.pass(ms)
			s.core.ShutDown(s.now)
			s.core.ShutDown(s.now)
			s.add("new")
			s.add("new2", after(ms))
			s.expectLen(2)
			s.expect("ready", "due")
			s.pass(2 * time.Hour)
			s.expect()
			if _, ok := s.core.NextDue(); ok {
				s.t.Error("something is delayed after ShutDown")
			}
		}},
		{"ShutDown: what was added in flight comes again, what was delayed in flight not", func(s *script) {
			s.add("a")
			s.add("b")
			s.expect("a", "b")
			s.add("a", value("again"))
			s.add("b", after(ms))
			s.core.ShutDown(s.now)
			s.pass(ms)
			s.done("b")
			s.expect()
			if s.core.Drained() {
				s.t.Error("drained with a in flight")
			}
			s.done("a")
			if s.core.Drained() {
				s.t.Error("drained with a ready")
			}
			s.expect("a=again")
			s.done("a")
			if !s.core.Drained() {
				s.t.Error("not drained")
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.run(newScript(t)) })
	}
}

func TestAgeingHandsOutTheOldestAtEverySecondGet(t *testing.T) {
	maxWait := func(d time.Duration) func(*workqueue.Options[string, string]) {
		return func(o *workqueue.Options[string, string]) { o.MaxWait = d }
	}
	high := addOptions{Priority: 1}

	t.Run("the oldest at every second Get", func(t *testing.T) {
		s := newScript(t, maxWait(time.Second))
		s.add("low1")
		s.add("low2")
		s.pass(time.Second - 1)
		for _, key := range []string{"h1", "h2", "h3", "h4"} {
			s.add(key, high)
		}
		if got := s.get(); got != "h1(1)" {
			t.Errorf("before MaxWait: %q", got)
		}
		s.pass(1)
		s.expect("low1", "h2(1)", "low2", "h3(1)", "h4(1)")
		if n := s.core.Stats(s.now).Aged; n != 2 {
			t.Errorf("Aged = %d, want 2", n)
		}
	})
	t.Run("a minute by default", func(t *testing.T) {
		s := newScript(t, maxWait(0))
		s.add("low")
		s.add("high", high)
		s.pass(time.Minute)
		s.expect("low", "high(1)")
	})
	t.Run("off", func(t *testing.T) {
		s := newScript(t, maxWait(-1))
		s.add("low")
		s.pass(1000 * time.Hour)
		s.add("high", high)
		s.expect("high(1)", "low")
	})
	t.Run("no effect within one priority", func(t *testing.T) {
		s := newScript(t, maxWait(time.Second))
		s.add("a")
		s.add("b")
		s.add("c")
		s.pass(time.Hour)
		s.expect("a", "b", "c")
		if n := s.core.Stats(s.now).Aged; n != 0 {
			t.Errorf("Aged = %d", n)
		}
	})
	t.Run("raising does not make younger", func(t *testing.T) {
		s := newScript(t, maxWait(time.Second))
		s.add("x")
		s.pass(time.Second)
		s.add("h1", high)
		s.add("x", high)
		s.expect("x(1)", "h1(1)")
	})
	t.Run("a delay does not count as waiting", func(t *testing.T) {
		s := newScript(t, maxWait(time.Second))
		s.add("low", addOptions{After: time.Minute})
		s.pass(time.Minute)
		s.add("high", high)
		s.expect("high(1)", "low")
	})
}

// A stream of high priorities that uses all capacity does not starve a low one.
func TestAgeingBoundsTheWaitOfLowPriorities(t *testing.T) {
	s := newScript(t, func(o *workqueue.Options[string, string]) { o.MaxWait = time.Second })
	for i := range 10 {
		s.add(fmt.Sprint("low", i))
	}
	var worst time.Duration
	remaining := 10
	for i := 0; remaining > 0; i++ {
		s.add(fmt.Sprint("high", i), addOptions{Priority: 1})
		s.add(fmt.Sprint("more", i), addOptions{Priority: 2})
		item, _ := s.core.Get(s.now)
		if strings.HasPrefix(item.Key, "low") {
			remaining--
			worst = max(worst, item.Waited)
		}
		s.done(item.Key)
		s.pass(10 * ms)
	}
	if worst > time.Second+2*10*10*ms {
		t.Errorf("a low priority waited %v", worst)
	}
}

func TestStatsCountAddsAndTimes(t *testing.T) {
	seen := &recorder{}
	s := newScript(t, func(o *workqueue.Options[string, string]) { o.Waited, o.Worked = seen.wait, seen.work })
	s.add("a")
	s.add("a")
	s.add("b")
	s.add("c", addOptions{After: time.Hour})
	s.add("d", addOptions{RateLimited: true})
	s.pass(2 * ms)
	if got := s.get(); got != "a" {
		t.Fatal(got)
	}
	s.pass(3 * ms)
	s.add("a")
	want := workqueue.Stats{
		Adds: 3, Retries: 1, Depth: 2, Delayed: 2, InFlight: 1,
		OldestWaiting: 5 * ms, LongestRunning: 3 * ms, Unfinished: 3 * ms,
	}
	if got := s.core.Stats(s.now); got != want {
		t.Errorf("Stats:\n got %+v\nwant %+v", got, want)
	}
	s.get()
	s.pass(4 * ms)
	want = workqueue.Stats{
		Adds: 3, Retries: 1, Depth: 1, Delayed: 2, InFlight: 2,
		OldestWaiting: 4 * ms, LongestRunning: 7 * ms, Unfinished: 11 * ms,
	}
	if got := s.core.Stats(s.now); got != want {
		t.Errorf("Stats:\n got %+v\nwant %+v", got, want)
	}
	s.done("a")
	s.pass(ms)
	s.get()
	s.done("b")
	s.done("a")
	if want := []time.Duration{2 * ms, 5 * ms, 5 * ms}; !reflect.DeepEqual(seen.waits, want) {
		t.Errorf("waits %v, want %v", seen.waits, want)
	}
	if want := []time.Duration{7 * ms, 5 * ms, 0}; !reflect.DeepEqual(seen.works, want) {
		t.Errorf("works %v, want %v", seen.works, want)
	}
	want = workqueue.Stats{Adds: 4, Retries: 1, Delayed: 1, Depth: 1}
	if got := s.core.Stats(s.now); got != want {
		t.Errorf("Stats:\n got %+v\nwant %+v", got, want)
	}
}

// A key that is added again while in flight waits from then on. It is counted with its priority,
// and its waiting time starts at that add.
func TestDepthCountsKeysAddedWhileInFlight(t *testing.T) {
	seen := &recorder{}
	s := newScript(t, func(o *workqueue.Options[string, string]) { o.Waited, o.Worked = seen.wait, seen.work })
	depths := func(want ...workqueue.Depth) {
		t.Helper()
		if got := s.core.Depths(s.now); !slices.Equal(got, want) {
			t.Errorf("depths %v, want %v", got, want)
		}
	}
	depths()
	for _, key := range []string{"a", "b", "c"} {
		s.add(key)
	}
	depths(workqueue.Depth{Keys: 3})
	s.get()
	s.get()
	depths(workqueue.Depth{Keys: 1})
	s.pass(10 * ms)
	s.add("a")
	s.add("a", addOptions{Priority: 7})
	s.add("b", addOptions{After: 5 * ms})
	depths(workqueue.Depth{Priority: 7, Keys: 1}, workqueue.Depth{Keys: 1})
	s.pass(20 * ms)
	depths(workqueue.Depth{Priority: 7, Keys: 1}, workqueue.Depth{Keys: 2})
	if got := s.core.Stats(s.now); got.Depth != 3 || got.OldestWaiting != 30*ms || s.core.Len(s.now) != 1 {
		t.Errorf("Stats %+v, Len %d", got, s.core.Len(s.now))
	}
	s.get() // hands out c
	if got := s.core.Stats(s.now); got.Depth != 2 || got.OldestWaiting != 20*ms {
		t.Errorf("Stats %+v", got)
	}
	s.done("a")
	s.pass(ms)
	if got := s.core.Stats(s.now); got.Depth != 2 || got.OldestWaiting != 21*ms {
		t.Errorf("Stats %+v", got)
	}
	if got := s.get(); got != "a(7)" {
		t.Fatal(got)
	}
	if got := s.core.Stats(s.now); got.Depth != 1 || got.OldestWaiting != 16*ms {
		t.Errorf("Stats %+v", got)
	}
	s.core.ShutDown(s.now)
	s.done("b")
	s.pass(ms)
	if got := s.get(); got != "b" {
		t.Fatal(got)
	}
	depths()
	if want := []time.Duration{0, 0, 30 * ms, 21 * ms, 17 * ms}; !slices.Equal(seen.waits, want) {
		t.Errorf("waits %v, want %v", seen.waits, want)
	}
}

type recorder struct{ waits, works []time.Duration }

func (r *recorder) wait(d time.Duration) { r.waits = append(r.waits, d) }
func (r *recorder) work(d time.Duration) { r.works = append(r.works, d) }

func TestNewNamesTheBadOption(t *testing.T) {
	type L = workqueue.RateLimiter[string]
	for _, tc := range []struct {
		limiter L
		want    string
	}{
		{workqueue.ExponentialLimiter[string](0, time.Second), "RateLimiter: ExponentialLimiter(0s, 1s): want 0 < base ≤ max"},
		{workqueue.ExponentialLimiter[string](time.Second, ms), "RateLimiter: ExponentialLimiter(1s, 1ms): want 0 < base ≤ max"},
		{workqueue.BucketLimiter[string](0, 5), "RateLimiter: BucketLimiter(0, 5): want a positive rate and burst"},
		{workqueue.BucketLimiter[string](math.NaN(), 5), "RateLimiter: BucketLimiter(NaN, 5): want a positive rate and burst"},
		{workqueue.BucketLimiter[string](1, 0), "RateLimiter: BucketLimiter(1, 0): want a positive rate and burst"},
		{workqueue.FastSlowLimiter[string](ms, -ms, 3), "RateLimiter: FastSlowLimiter(1ms, -1ms, 3): want no negative parameter"},
		{workqueue.MaxOf[string](), "RateLimiter: MaxOf(): no limiter"},
		{workqueue.MaxOf[string](workqueue.DefaultLimiter[string](), nil), "RateLimiter: MaxOf: limiter 1 is nil"},
		{workqueue.MaxOf(workqueue.BucketLimiter[string](1, -1)), "RateLimiter: MaxOf: BucketLimiter(1, -1): want a positive rate and burst"},
	} {
		q, err := workqueue.New(workqueue.Options[string, struct{}]{RateLimiter: tc.limiter})
		if q != nil || !errors.As(err, new(*option.Error)) || !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("New = %v, %v; want %q", q, err, tc.want)
		}
	}
}
