package leader

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"pgregory.net/rapid"
)

// world is a server, and candidates on machines whose clocks run at different rates and jump. The
// network between them delays and loses messages. world runs on true time, event by event.
type world struct {
	t         *rapid.T
	rand      *rand.Rand
	now       time.Duration
	events    schedule
	serial    int
	faultsOff bool // no more faults

	lease            *coordinationv1.Lease // nil: none
	version          int
	all              []*candidate
	terms            int
	lastManualChange time.Duration // the last change by hand
	trace            []string
}

// candidate is a process and its successors on the same machine.
type candidate struct {
	w           *world
	name        string
	sameName    bool // across restarts
	core        *Core
	incarnation int // incarnation; events of an earlier one are void
	rate        float64
	offset      time.Duration
	paused      time.Duration // end of the pause
	wake        int           // number of the last planned wake-up
	stopped     bool
	working     bool
	watching    int // number of the watch; 0: none
	watches     int
	last        time.Duration // delivery time of the last event of the watch: events keep their order
}

type event struct {
	at     time.Duration
	serial int
	do     func()
}

type schedule []event

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].serial < s[j].serial
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(event)) }
func (s *schedule) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.events, event{w.now + d, w.serial, do})
}

func (w *world) logf(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%9.3f ", w.now.Seconds())+fmt.Sprintf(format, args...))
}

// delay returns a network delay, mostly a short one.
func (w *world) delay() time.Duration {
	d := time.Duration(w.rand.ExpFloat64() * float64(20*time.Millisecond))
	if !w.faultsOff && w.rand.IntN(8) == 0 {
		d += time.Duration(w.rand.Int64N(int64(20 * time.Second)))
	}
	return d
}

func (w *world) fault(oneIn int) bool { return !w.faultsOff && w.rand.IntN(oneIn) == 0 }

func (c *candidate) mono() time.Duration {
	return c.offset + time.Duration(c.rate*float64(c.w.now))
}

func (c *candidate) time() Time {
	wall := epoch.Add(c.w.now)
	if c.w.fault(3) {
		wall = wall.Add(time.Duration(c.w.rand.Int64N(int64(2*time.Hour))) - time.Hour)
	}
	// Two processes never write in the same microsecond, however their clocks are set.
	return Time{Mono: c.mono(), Wall: wall.Add(time.Duration(c.w.rand.Int64N(1e9)))}
}

// run schedules do in this incarnation of the process, after its pause.
func (c *candidate) run(d time.Duration, do func()) {
	incarnation := c.incarnation
	var try func()
	try = func() {
		switch {
		case c.incarnation != incarnation:
		case c.paused > c.w.now:
			c.w.after(c.paused-c.w.now, try)
		default:
			do()
		}
	}
	c.w.after(d, try)
}

// modelConfig returns the config of a process that may start just after the Lease was deleted.
func modelConfig(identity string) Config {
	o := testConfig(identity)
	o.AbsentWait = o.LeaseDuration
	return o
}

func (c *candidate) start() {
	c.incarnation++
	o := modelConfig(c.name)
	if !c.sameName {
		o.Identity += strconv.Itoa(c.incarnation)
	}
	c.core, c.stopped, c.working, c.watching, c.paused = NewCore(o), false, false, 0, 0
	c.w.logf("%s starts", o.Identity)
	c.tick()
	c.run(c.w.delay(), c.watch)
}

func (c *candidate) restart() {
	c.w.logf("%s ends", c.core.o.Identity)
	c.incarnation++
	c.core = NewCore(modelConfig(c.name))
	c.w.after(c.w.delay(), c.start)
}

// watch starts to report the state of the server. It may stop without a word for a while.
func (c *candidate) watch() {
	if c.w.fault(3) {
		c.run(time.Second, c.watch)
		return
	}
	c.watches++
	c.watching, c.last = c.watches, c.w.now
	c.core.Watching(c.time(), true)
	if l := c.w.lease; l != nil {
		c.deliver(l, false)
	}
	c.tick()
}

// deliver schedules an event of the watch, in order.
func (c *candidate) deliver(l *coordinationv1.Lease, deleted bool) {
	if c.watching == 0 {
		return
	}
	id := c.watching
	if c.w.fault(20) {
		c.watching = 0
		c.run(c.w.delay(), func() {
			c.core.Watching(c.time(), false)
			c.tick()
			c.watch()
		})
		return
	}
	c.last = max(c.last, c.w.now+c.w.delay())
	c.run(c.last-c.w.now, func() {
		if c.watches == id {
			c.core.Observe(c.time(), l.DeepCopy(), deleted)
			c.tick()
		}
	})
}

func (w *world) changed(deleted bool) {
	for _, c := range w.all {
		c.deliver(w.lease, deleted)
	}
}

// tick calls Next until the core wants to wait.
func (c *candidate) tick() {
	for {
		now := c.time()
		a := c.core.Next(now, c.w.rand.Float64())
		c.work()
		switch {
		case a.Do == Finish:
			c.restart()
			return
		case a.Do != Wait:
			c.request(now, a)
			continue
		case a.Until != Never:
			c.wake++
			wake := c.wake
			c.run(time.Duration(float64(a.Until-now.Mono)/c.rate)+c.w.delay()/10, func() {
				if c.wake == wake {
					c.tick()
				}
			})
		}
		return
	}
}

// work begins when the core leads, and ends some time after the lease was lost or the core was
// stopped.
func (c *candidate) work() {
	end := func() {
		c.core.Ended(c.time())
		c.tick()
	}
	switch {
	case c.core.Phase() == Leading && !c.working:
		c.working = true
		c.w.terms++
		c.w.logf("%s leads until %v", c.core.o.Identity, c.core.Until())
	case c.core.Phase() == Lost && !c.working:
		c.working = true
		c.run(0, end)
	case c.core.Phase() == Lost && !c.stopped, c.core.Phase() == Leading && !c.stopped && c.w.fault(100):
		c.w.logf("%s stops: %v", c.core.o.Identity, c.core.Lost())
		c.stopped = true
		c.core.Stop(c.time())
		c.run(c.w.delay(), end)
	}
}

func (c *candidate) request(now Time, a Action) {
	incarnation, answered := c.incarnation, false
	answer := func(x Answer) {
		if !answered {
			answered = true
			c.core.Answer(c.time(), x)
			c.tick()
		}
	}
	c.run(time.Duration(float64(a.Until-now.Mono)/c.rate), func() { answer(Answer{Result: Failed, Err: errTest}) })
	if c.w.fault(12) {
		return // the request is lost
	}
	c.w.after(c.w.delay(), func() {
		x := c.w.serve(a)
		if c.incarnation != incarnation || c.w.fault(8) {
			return // the process is gone, or the answer is lost
		}
		c.run(c.w.delay(), func() { answer(x) })
	})
}

// serve answers a request as the API server does.
func (w *world) serve(a Action) Answer {
	switch {
	case a.Do == Read && w.lease == nil, a.Do == Update && w.lease == nil:
		return Answer{Result: Absent}
	case a.Do == Read:
		return Answer{Lease: w.lease.DeepCopy()}
	case a.Do == Create && w.lease != nil, a.Do == Update && w.lease.ResourceVersion != a.Lease.ResourceVersion:
		return Answer{Result: Conflict}
	}
	w.version++
	w.lease = stored(a.Lease, strconv.Itoa(w.version))
	w.logf("the lease is %v", recordOf(w.lease))
	w.changed(false)
	return Answer{Lease: w.lease.DeepCopy()}
}

// step runs the next event and checks that at most one candidate believes that it may write.
func (w *world) step() {
	e := heap.Pop(&w.events).(event)
	w.now = e.at
	e.do()
	leaders := 0
	for _, c := range w.all {
		if c.core.Until() > c.mono() {
			leaders++
		}
	}
	if leaders > 1 {
		for _, c := range w.all {
			w.logf("%s: %v, has %v left", c.core.o.Identity, c.core.Phase(), c.core.Until()-c.mono())
		}
		for _, line := range w.trace[max(0, len(w.trace)-60):] {
			w.t.Log(line)
		}
		w.t.Fatalf("%d leaders", leaders)
	}
}

// chaos injects a random fault from time to time.
func (w *world) chaos() {
	if w.faultsOff {
		return
	}
	c := w.all[w.rand.IntN(len(w.all))]
	switch w.rand.IntN(7) {
	case 0:
		w.logf("%s is killed", c.core.o.Identity)
		c.restart()
	case 1, 2:
		d := time.Duration(w.rand.Int64N(int64(40 * time.Second)))
		w.logf("%s is paused for %v", c.core.o.Identity, d)
		c.paused = w.now + d
	case 3:
		if w.lease != nil { // a change of a label
			w.version++
			w.lease = stored(w.lease, strconv.Itoa(w.version))
			w.changed(false)
		}
	case 4:
		w.byHand()
	}
	w.after(time.Duration(w.rand.Int64N(int64(30*time.Second))), w.chaos)
}

// byHand deletes the Lease, or removes its holder, without the holder's knowledge. It does not do
// that twice in short time: a candidate that has seen neither the holder before nor the one after
// cannot know of it.
func (w *world) byHand() {
	if w.lease == nil || w.now-w.lastManualChange < 2*time.Minute || w.lease.Spec.RenewTime.Equal(w.lease.Spec.AcquireTime) {
		return
	}
	w.version++
	w.lastManualChange, w.lease = w.now, stored(w.lease, strconv.Itoa(w.version))
	if w.rand.IntN(2) == 0 {
		w.logf("the holder is taken out")
		w.lease.Spec.HolderIdentity = nil
		w.changed(false)
		return
	}
	w.logf("the lease is deleted")
	w.changed(true)
	w.lease = nil
}

// At no time do two candidates believe that they may write, whatever happens to them and to their
// requests. Once the faults end, there is a leader again.
func TestAtMostOneCandidateMayWrite(t *testing.T) {
	length := 20 * time.Minute
	if os.Getenv("FLYBALL_LONG") != "" {
		length = 10 * time.Hour
	}
	terms := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))}
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "same"}), 3, 3).Draw(rt, "names")
		for _, k := range kinds {
			w.all = append(w.all, &candidate{
				w: w, name: k, sameName: k == "same",
				rate:   rapid.Float64Range(0.85, 1.15).Draw(rt, "rate"),
				offset: time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(rt, "offset")),
			})
		}
		for _, c := range w.all {
			c.core = NewCore(modelConfig(c.name))
			w.after(w.delay(), c.start)
		}
		w.after(0, w.chaos)
		for w.now < length {
			w.step()
		}
		w.faultsOff = true
		for w.now < length+3*time.Minute {
			w.step()
		}
		leaders := 0
		for _, c := range w.all {
			if c.core.Until() > c.mono() {
				leaders++
			}
		}
		if leaders != 1 {
			rt.Fatalf("%d leaders at the end", leaders)
		}
		terms += w.terms
	})
	t.Logf("%d terms", terms)
}
