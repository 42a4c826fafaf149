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

	_ "github.com/flyball-io/flyball/internal/seed" // one seed for the random tests
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
	core        *core
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

type occurrence struct {
	at     time.Duration
	serial int
	do     func()
}

type schedule []occurrence

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	return s[i].at < s[j].at || s[i].at == s[j].at && s[i].serial < s[j].serial
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(occurrence)) }
func (s *schedule) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

func (w *world) after(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.events, occurrence{w.now + d, w.serial, do})
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

// now returns the steady clock of the candidate's machine.
func (c *candidate) now() time.Time {
	return epoch.Add(c.offset + time.Duration(c.rate*float64(c.w.now)))
}

func (c *candidate) step(in input) output {
	wall := epoch.Add(c.w.now)
	if c.w.fault(3) {
		wall = wall.Add(time.Duration(c.w.rand.Int64N(int64(2*time.Hour))) - time.Hour)
	}
	// Two processes never write in the same microsecond, however their clocks are set.
	in.wall = wall.Add(time.Duration(c.w.rand.Int64N(1e9)))
	return c.core.Step(c.now(), in)
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
func modelConfig(identity string) Options {
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
	c.core, c.stopped, c.working, c.watching, c.paused = newCore(o, c.w.rand.Float64), false, false, 0, 0
	c.w.logf("%s starts", o.Identity)
	c.feed(input{})
	c.run(c.w.delay(), c.watch)
}

func (c *candidate) restart() {
	c.w.logf("%s ends", c.core.o.Identity)
	c.incarnation++
	c.core = newCore(modelConfig(c.name), c.w.rand.Float64)
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
	if l := c.w.lease; l != nil {
		c.deliver(l, observed)
	}
	c.feed(input{event: watching})
}

// deliver schedules an event of the watch, in order.
func (c *candidate) deliver(l *coordinationv1.Lease, what event) {
	if c.watching == 0 {
		return
	}
	id := c.watching
	if c.w.fault(20) {
		c.watching = 0
		c.run(c.w.delay(), func() {
			c.feed(input{event: unwatched})
			c.watch()
		})
		return
	}
	c.last = max(c.last, c.w.now+c.w.delay())
	c.run(c.last-c.w.now, func() {
		if c.watches == id {
			c.feed(input{event: what, lease: l.DeepCopy()})
		}
	})
}

func (w *world) changed(what event) {
	for _, c := range w.all {
		c.deliver(w.lease, what)
	}
}

// feed steps the core, and performs its output.
func (c *candidate) feed(in input) {
	out := c.step(in)
	c.work()
	if out.do == finish {
		c.restart()
		return
	}
	if out.do != wait {
		c.request(out)
	}
	if !out.until.IsZero() {
		c.wake++
		wake := c.wake
		c.run(c.until(out.until)+c.w.delay()/10, func() {
			if c.wake == wake {
				c.feed(input{})
			}
		})
	}
}

// until returns the true time until a time by the candidate's clock.
func (c *candidate) until(t time.Time) time.Duration {
	return time.Duration(float64(t.Sub(c.now())) / c.rate)
}

// left returns how long the candidate believes that it may write. Zero or less means that it may not.
func (c *candidate) left() time.Duration {
	if c.core.until() == 0 {
		return 0
	}
	return c.core.time(c.core.until()).Sub(c.now())
}

// work begins when the core leads, and ends some time after the lease was lost or the core was
// stopped.
func (c *candidate) work() {
	end := func() { c.feed(input{event: ended}) }
	switch {
	case c.core.phase == leading && !c.working:
		c.working = true
		c.w.terms++
		c.w.logf("%s leads for %v", c.core.o.Identity, c.left())
	case c.core.phase == lost && !c.working:
		c.working = true
		c.run(0, end)
	case c.core.phase == lost && !c.stopped, c.core.phase == leading && !c.stopped && c.w.fault(100):
		c.w.logf("%s stops: %v", c.core.o.Identity, c.core.lost)
		c.stopped = true
		c.run(0, func() { c.feed(input{event: stopped}) })
		c.run(c.w.delay(), end)
	}
}

func (c *candidate) request(out output) {
	incarnation, over := c.incarnation, false
	answer := func(x input) {
		if !over {
			over = true
			c.feed(x)
		}
	}
	c.run(c.until(out.deadline), func() { answer(input{event: answered, result: failed, err: errTest}) })
	if c.w.fault(12) {
		return // the request is lost
	}
	c.w.after(c.w.delay(), func() {
		x := c.w.serve(out)
		if c.incarnation != incarnation || c.w.fault(8) {
			return // the process is gone, or the answer is lost
		}
		c.run(c.w.delay(), func() { answer(x) })
	})
}

// serve answers a request as the API server does.
func (w *world) serve(out output) input {
	switch {
	case out.do == read && w.lease == nil, out.do == update && w.lease == nil:
		return input{event: answered, result: absent}
	case out.do == read:
		return input{event: answered, lease: w.lease.DeepCopy()}
	case out.do == create && w.lease != nil, out.do == update && w.lease.ResourceVersion != out.lease.ResourceVersion:
		return input{event: answered, result: conflict}
	}
	w.version++
	w.lease = stored(out.lease, strconv.Itoa(w.version))
	w.logf("the lease is %v", recordOf(w.lease))
	w.changed(observed)
	return input{event: answered, lease: w.lease.DeepCopy()}
}

// step runs the next event and checks that at most one candidate believes that it may write.
func (w *world) step() {
	e := heap.Pop(&w.events).(occurrence)
	w.now = e.at
	e.do()
	leaders := 0
	for _, c := range w.all {
		if c.left() > 0 {
			leaders++
		}
	}
	if leaders > 1 {
		for _, c := range w.all {
			w.logf("%s: %v, has %v left", c.core.o.Identity, c.core.phase, c.left())
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
			w.changed(observed)
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
		w.changed(observed)
		return
	}
	w.logf("the lease is deleted")
	w.changed(deleted)
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
			c.core = newCore(modelConfig(c.name), c.w.rand.Float64)
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
			if c.left() > 0 {
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
