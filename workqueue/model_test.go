package workqueue_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/workqueue"
)

// model is the queue as its documentation describes it: a plain map, searched for every answer.
type model struct {
	keys     map[int]*modelKey
	failures map[int]int
	now      time.Duration
	maxWait  time.Duration
	clock    int // increases with every event that has an order
	aged     bool
	down     bool
	agedN    uint64
	adds     uint64
	retries  uint64
}

type modelKey struct {
	pending  string // "", "delayed" or "ready"
	working  bool
	value    string
	priority int
	due      time.Duration
	dueOrder int
	ready    time.Duration // since when, if ready and not in flight
	added    time.Duration // due time of the first pending add
	order    int           // among all ready items
	turn     int           // among the ready items of its priority
	started  time.Duration
	backoff  time.Duration // end of the last backoff
}

func (m *model) delay(failures int) time.Duration {
	return min(ms<<(failures-1), 64*ms)
}

func (m *model) becomeReady(k *modelKey, at time.Duration) {
	if k.pending != "ready" {
		k.added = at
	}
	k.pending = "ready"
	if !k.working {
		m.clock++
		k.ready, k.order, k.turn = at, m.clock, m.clock
	}
}

func (m *model) pass(to time.Duration) {
	m.now = to
	var due []*modelKey
	for _, k := range m.keys {
		if k.pending == "delayed" && k.due <= m.now {
			due = append(due, k)
		}
	}
	sort.Slice(due, func(i, j int) bool {
		return due[i].due < due[j].due || due[i].due == due[j].due && due[i].dueOrder < due[j].dueOrder
	})
	for _, k := range due {
		m.adds++
		m.becomeReady(k, k.due)
	}
}

func (m *model) add(key int, o addOptions) {
	if m.down {
		return
	}
	k := m.keys[key]
	if k == nil {
		k = &modelKey{}
		m.keys[key] = k
	}
	delay := max(o.After, 0)
	if o.RateLimited {
		m.retries++
		if k.working && k.backoff > m.now {
			delay = max(delay, k.backoff-m.now)
		} else {
			m.failures[key]++
			d := m.delay(m.failures[key])
			delay = max(delay, d)
			if k.backoff <= m.now {
				k.backoff = m.now + d
			}
		}
	}
	if k.pending == "" {
		k.value, k.priority = o.Value, o.Priority
	} else {
		k.value += o.Value
		if o.Priority > k.priority {
			k.priority = o.Priority
			m.clock++
			k.turn = m.clock
		}
	}
	if k.pending == "ready" {
		return
	}
	if delay == 0 {
		m.adds++
		m.becomeReady(k, m.now)
		return
	}
	if k.pending == "" {
		m.clock++
		k.dueOrder = m.clock
	}
	if due := m.now + delay; k.pending == "" || due < k.due {
		k.due = due
	}
	k.pending = "delayed"
}

func (m *model) readyKeys() (keys []int) {
	for key, k := range m.keys {
		if k.pending == "ready" && !k.working {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *model) get() (workqueue.Item[int, string], bool) {
	front, oldest := -1, -1
	for _, key := range m.readyKeys() {
		k := m.keys[key]
		if front < 0 || k.priority > m.keys[front].priority ||
			k.priority == m.keys[front].priority && k.turn < m.keys[front].turn {
			front = key
		}
		if oldest < 0 || k.order < m.keys[oldest].order {
			oldest = key
		}
	}
	if front < 0 {
		return workqueue.Item[int, string]{}, false
	}
	m.aged = oldest != front && !m.aged && m.maxWait >= 0 && m.now-m.keys[oldest].ready >= m.maxWait
	if m.aged {
		m.agedN++
		front = oldest
	}
	k := m.keys[front]
	item := workqueue.Item[int, string]{Key: front, Value: k.value, Priority: k.priority, Waited: m.now - k.added}
	k.pending, k.working, k.value, k.started = "", true, "", m.now
	return item, true
}

func (m *model) done(key int) {
	k := m.keys[key]
	if k == nil || !k.working {
		return
	}
	k.working = false
	switch k.pending {
	case "":
		delete(m.keys, key)
	case "ready":
		m.becomeReady(k, m.now)
	}
}

func (m *model) forget(key int) {
	delete(m.failures, key)
	if k := m.keys[key]; k != nil {
		k.backoff = 0
	}
}

func (m *model) shutDown() {
	m.down = true
	for key, k := range m.keys {
		if k.pending == "delayed" {
			k.pending = ""
			if !k.working {
				delete(m.keys, key)
			}
		}
	}
}

func (m *model) stats() workqueue.Stats {
	s := workqueue.Stats{Adds: m.adds, Retries: m.retries, Aged: m.agedN}
	for _, k := range m.keys {
		switch {
		case k.pending == "delayed":
			s.Delayed++
		case k.pending == "ready":
			s.Depth++
			s.OldestWaiting = max(s.OldestWaiting, m.now-k.added)
		}
		if k.working {
			s.InFlight++
			s.Unfinished += m.now - k.started
			s.LongestRunning = max(s.LongestRunning, m.now-k.started)
		}
	}
	return s
}

// depths returns Stats.Depth by priority.
func (m *model) depths() (out []workqueue.Depth) {
	keys := map[int]int{}
	for _, k := range m.keys {
		if k.pending == "ready" {
			keys[k.priority]++
		}
	}
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(keys))) {
		out = append(out, workqueue.Depth{Priority: p, Keys: keys[p]})
	}
	return out
}

// TestQueueAgreesWithAMap compares a Core with the model under random operations: 30,000 by default,
// more than 1,000,000 with FLYBALL_LONG=1. The rapid flags override both.
func TestQueueAgreesWithAMap(t *testing.T) {
	checks, steps := "300", "100"
	if os.Getenv("FLYBALL_LONG") == "1" {
		checks, steps = "12000", "100"
	}
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.steps": steps} {
		if !set[name] {
			if err := flag.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	operations := 0
	rapid.Check(t, func(t *rapid.T) { checkCore(t, &operations) })
	t.Logf("%d operations", operations)
}

func checkCore(t *rapid.T, operations *int) {
	m := &model{
		keys: map[int]*modelKey{}, failures: map[int]int{},
		maxWait: rapid.SampledFrom([]time.Duration{-1, ms, 20 * ms}).Draw(t, "maxWait"),
	}
	core, err := workqueue.NewCore(workqueue.Options[int, string]{
		Merge:       func(old, new string) string { return old + new },
		RateLimiter: workqueue.ExponentialLimiter[int](ms, 64*ms),
		MaxWait:     m.maxWait,
	})
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return epoch.Add(m.now) }
	core.Stats(now()) // sets the epoch
	if rapid.Bool().Draw(t, "eager") {
		core.Eager()
	}

	keys := rapid.IntRange(0, rapid.SampledFrom([]int{11, 11, 500}).Draw(t, "last key"))
	some := rapid.IntRange(0, 3)
	priorities := rapid.SampledFrom([]int{0, 0, 0, 1, 2, -1})
	delays := rapid.SampledFrom([]time.Duration{0, 0, -ms, ms, ms, 2 * ms, 5 * ms, 50 * ms})
	steps := rapid.SampledFrom([]time.Duration{0, 1, ms, ms, 3 * ms, 30 * ms})
	value := 0

	add := func(key int, o addOptions) {
		value = (value + 1) % 26
		o.Value = string(rune('a' + value))
		core.Add(key, o, now())
		m.add(key, o)
	}
	get := func(t *rapid.T) {
		got, ok := core.Get(now())
		want, wantOK := m.get()
		if got != want || ok != wantOK {
			t.Fatalf("Get = %+v, %v; want %+v, %v", got, ok, want, wantOK)
		}
	}
	working := func() (keys []int) {
		for key, k := range m.keys {
			if k.working {
				keys = append(keys, key)
			}
		}
		sort.Ints(keys)
		return keys
	}

	t.Repeat(map[string]func(*rapid.T){
		"add":  func(t *rapid.T) { add(keys.Draw(t, "key"), addOptions{Priority: priorities.Draw(t, "priority")}) },
		"add2": func(t *rapid.T) { add(keys.Draw(t, "key"), addOptions{}) },
		"addDelayed": func(t *rapid.T) {
			add(keys.Draw(t, "key"), addOptions{Priority: priorities.Draw(t, "priority"), After: delays.Draw(t, "delay")})
		},
		"addMany": func(t *rapid.T) { // without another operation between them
			rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			one := keys.Draw(t, "one of them")
			for range rapid.IntRange(2, 200).Draw(t, "how many") {
				*operations++
				key := rnd.IntN(one + 12)
				switch rnd.IntN(12) {
				case 0:
					m.pass(m.now + time.Duration(rnd.IntN(int(2*ms))))
					add(key, addOptions{Priority: rnd.IntN(20)})
				case 1:
					add(key, addOptions{After: time.Duration(rnd.IntN(int(5 * ms)))})
				case 2:
					add(key, addOptions{RateLimited: true})
				default:
					add(key, addOptions{Priority: rnd.IntN(3)})
				}
			}
		},
		"getMany": func(t *rapid.T) {
			for range rapid.IntRange(2, 100).Draw(t, "how many") {
				*operations++
				get(t)
			}
		},
		"doneMany": func(t *rapid.T) {
			for _, key := range working() {
				*operations++
				core.Done(key, now())
				m.done(key)
			}
		},
		"fail": func(t *rapid.T) {
			o := addOptions{Priority: priorities.Draw(t, "priority"), RateLimited: true}
			if some.Draw(t, "with a delay") == 0 {
				o.After = delays.Draw(t, "delay")
			}
			key := keys.Draw(t, "key")
			if in := working(); len(in) > 0 && some.Draw(t, "of any key") > 0 {
				key = in[key%len(in)]
			}
			add(key, o)
		},
		"get":  get,
		"get2": get,
		"done": func(t *rapid.T) {
			key := keys.Draw(t, "key")
			if in := working(); len(in) > 0 {
				key = in[key%len(in)]
			}
			core.Done(key, now())
			m.done(key)
		},
		"doneAny": func(t *rapid.T) {
			key := keys.Draw(t, "key")
			core.Done(key, now())
			m.done(key)
		},
		"forget": func(t *rapid.T) {
			key := keys.Draw(t, "key")
			core.Forget(key)
			m.forget(key)
		},
		"pass": func(t *rapid.T) { m.pass(m.now + steps.Draw(t, "step")) },
		"shutDown": func(t *rapid.T) {
			if rapid.IntRange(0, 39).Draw(t, "really") == 39 {
				core.ShutDown(now())
				m.shutDown()
			}
		},
		"": func(t *rapid.T) {
			*operations++
			if got, want := core.Stats(now()), m.stats(); got != want {
				t.Fatalf("Stats:\n got %+v\nwant %+v", got, want)
			}
			if got, want := core.Depths(now()), m.depths(); !slices.Equal(got, want) {
				t.Fatalf("Depths %v, want %v", got, want)
			}
			if got, want := core.Len(now()), len(m.readyKeys()); got != want {
				t.Fatalf("Len = %d, want %d", got, want)
			}
			for key := range 12 {
				if got, want := core.NumRequeues(key), m.failures[key]; got != want {
					t.Fatalf("NumRequeues(%d) = %d, want %d", key, got, want)
				}
			}
			if core.ShuttingDown() != m.down || core.Drained() != (m.down && len(m.keys) == 0) {
				t.Fatalf("ShuttingDown %v, Drained %v, model %v with %d keys",
					core.ShuttingDown(), core.Drained(), m.down, len(m.keys))
			}
			if got, want := dueText(core), m.dueText(); got != want {
				t.Fatalf("NextDue %s, want %s", got, want)
			}
		},
	})
}

func dueText(core *workqueue.Core[int, string]) string {
	if due, ok := core.NextDue(); ok {
		return fmt.Sprint(due.Sub(epoch))
	}
	return "never"
}

func (m *model) dueText() string {
	text, first := "never", time.Duration(0)
	for _, k := range m.keys {
		if k.pending == "delayed" && (text == "never" || k.due < first) {
			text, first = fmt.Sprint(k.due), k.due
		}
	}
	return text
}
