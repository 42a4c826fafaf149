package leader

import (
	"math"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flyball-io/flyball/object"
)

// Time is one reading of the two clocks.
type Time struct {
	// Mono is the time since a fixed moment. It never goes back and counts while the machine is
	// suspended. All decisions are made by it.
	Mono time.Duration
	// Wall is stamped into the Lease for others to read. It may jump.
	Wall time.Time
}

// Never is later than every time.
const Never = time.Duration(math.MaxInt64)

// Phase of a [Core].
type Phase int

// The phases, in the order in which they come; some may be left out.
const (
	// Standby: the lease is another's, or nothing is known yet.
	Standby Phase = iota
	// Leading: the lease is ours until [Core.Until].
	Leading
	// Lost: it was ours and may not be any more; the work has not ended yet.
	Lost
	// Releasing: the work has ended and the lease is being given back.
	Releasing
	// Done: there is nothing more to do.
	Done
)

func (p Phase) String() string {
	if p < Standby || p > Done {
		return "phase " + strconv.Itoa(int(p))
	}
	return [...]string{"standby", "leading", "lost", "releasing", "done"}[p]
}

// Do is what an [Action] asks for.
type Do int

// What there is to do.
const (
	// Wait for an input, and look again at Until.
	Wait Do = iota
	// Read the Lease.
	Read
	// Create the Lease of the Action.
	Create
	// Update the Lease to that of the Action, in the place of exactly its resourceVersion.
	Update
	// Finish: nothing more is to be done.
	Finish
)

func (d Do) String() string {
	if d < Wait || d > Finish {
		return "do " + strconv.Itoa(int(d))
	}
	return [...]string{"wait", "read", "create", "update", "finish"}[d]
}

// Action is what is to be done next.
type Action struct {
	Do Do
	// Until is when to look again, or when to give a request up.
	Until time.Duration
	// Lease to be written. It belongs to the caller.
	Lease *coordinationv1.Lease
}

// Result is what became of a request.
type Result int

// The results.
const (
	// OK: the answer holds the Lease.
	OK Result = iota
	// Absent: there is no Lease.
	Absent
	// Conflict: there is another version of it, or one where there was to be none.
	Conflict
	// Failed: anything else. A write may have been done, or may still be.
	Failed
)

// Answer is what a request came to.
type Answer struct {
	Result Result
	// Lease as the server has it, if OK.
	Lease *coordinationv1.Lease
	// Err, if Failed.
	Err error
}

// Config of a [Core]. Lease, Identity and the first three durations are required.
type Config struct {
	Lease    object.Key
	Identity string
	// LeaseDuration > RenewDeadline > RetryPeriod; see [Options].
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// MaxLeaseDuration and AbsentWait are those of [Options].
	MaxLeaseDuration, AbsentWait time.Duration
	// KeepOnStop does not give the lease back.
	KeepOnStop bool
}

// Core is the election as one candidate sees it. It has no goroutine, lock or clock, and is for
// one goroutine at a time. Make one with [NewCore].
//
// Next says what to do; for each request that it asks for, Answer must be called, and until then
// it asks for no other. What comes in between is told by Observe, Watching, Stop and Ended, and
// after each of them Next is to be asked again. Times must not go back.
type Core struct {
	o     Config
	phase Phase
	lost  *LostError

	// The Lease as it was last seen.
	known    bool                  // anything at all
	stale    bool                  // what is known is not the newest, or may not be
	lease    *coordinationv1.Lease // nil: there is none
	rec      record
	mine     bool // written here
	since    Time // when rec was first seen
	newest   uint64
	watching bool
	owed     time.Duration // until then one may lead from whom the lease was taken away

	// Own writes.
	own   record // the last one that is known to have been done
	from  Time   // from before it was sent: our time counts from here
	tries []try  // those whose fate is open

	flight    *flight       // the request that is being made
	again     time.Duration // when the next look or renewal is due
	hold      time.Duration // no request before, after one that failed
	conflicts int           // in a row
	giveUp    time.Duration // releasing
	err       error
}

// try is a write that was sent.
type try struct {
	rec  record
	base string // version that it replaces; empty: none
	sent Time
}

type flight struct {
	read   bool
	try    try
	newest uint64        // when it was sent
	again  time.Duration // not before, if it fails
	before bool          // it was sent before the watch began
}

// Bounds of what a Core remembers and repeats.
const (
	maxTries     = 16
	maxConflicts = 3 // in a row, without a pause
)

// jitter is by how much of itself a RetryPeriod may be longer.
const jitter = 0.2

// NewCore returns a Core that knows nothing of the Lease yet. The options must make sense.
func NewCore(o Config) *Core {
	if o.MaxLeaseDuration == 0 {
		o.MaxLeaseDuration = believed(o.LeaseDuration)
	}
	return &Core{o: o}
}

// Phase of the election.
func (c *Core) Phase() Phase { return c.phase }

// Until is when our time in the lease ends, while Leading; else zero. From then on nothing must
// be written, whether Next was asked meanwhile or not.
func (c *Core) Until() time.Duration {
	if c.phase != Leading {
		return 0
	}
	return c.from.Mono + c.o.RenewDeadline
}

// Lost is why the lease was lost; nil: it was not.
func (c *Core) Lost() *LostError { return c.lost }

// Holder is the identity that the Lease names; empty: none, or nothing is known.
func (c *Core) Holder() string { return c.rec.holder }

// Renewed is the wall time of this machine when our own lease was last renewed, or when we last
// saw a sign of life of another holder; zero: never.
func (c *Core) Renewed() time.Time {
	if c.mine {
		return c.from.Wall
	}
	if c.rec.holder == "" {
		return time.Time{}
	}
	return c.since.Wall
}

// Err is what is wrong now: why the last request failed, or an [OddLeaseError]; nil: nothing.
func (c *Core) Err() error {
	if c.err != nil {
		return c.err
	}
	if p := c.rec.problem(c.o.Identity, c.o.LeaseDuration, c.o.MaxLeaseDuration); p != "" && !c.mine {
		return &OddLeaseError{Lease: c.o.Lease, Holder: c.rec.holder, Problem: p}
	}
	return nil
}

// Next says what to do now. random is drawn from [0, 1).
func (c *Core) Next(now Time, random float64) Action {
	c.expire(now)
	if c.phase == Releasing && (now.Mono >= c.giveUp || c.flight == nil && c.known && !c.stale && !c.mine) {
		c.phase = Done
	}
	bound := Never
	switch c.phase {
	case Done:
		return Action{Do: Finish}
	case Lost:
		return Action{Until: Never}
	case Leading:
		bound = c.Until()
	case Releasing:
		bound = c.giveUp
	}
	if c.flight != nil {
		return Action{Until: bound}
	}
	at, read := c.plan()
	if at = max(at, c.hold); at > now.Mono {
		return Action{Until: min(at, bound)}
	}
	again := now.Mono + c.o.RetryPeriod + time.Duration(random*jitter*float64(c.o.RetryPeriod))
	if c.phase != Leading || !read {
		c.again = again
	}
	a := Action{Do: Read, Until: min(now.Mono+c.o.RenewDeadline/2, bound)}
	c.flight = &flight{read: read, newest: c.newest, again: again}
	if !read {
		c.write(now, &a)
	}
	return a
}

// plan is when which request is due.
func (c *Core) plan() (at time.Duration, read bool) {
	if !c.known || c.stale {
		return 0, true
	}
	switch {
	case c.phase == Leading:
		return c.again, false
	case c.phase == Releasing, c.mine:
		return 0, false
	}
	free := c.free()
	if !c.watching && c.again < free {
		return c.again, true
	}
	return free, false
}

// free is when the lease, which is not ours, may be taken.
func (c *Core) free() time.Duration {
	if c.rec.holder == "" {
		return c.owed
	}
	return max(c.owed, c.since.Mono+c.rec.lasts(c.o.LeaseDuration, c.o.MaxLeaseDuration))
}

// write fills in the Lease to be written.
func (c *Core) write(now Time, a *Action) {
	l, rec := new(coordinationv1.Lease), record{}
	a.Do = Create
	if c.lease != nil {
		a.Do = Update
		l = c.lease.DeepCopy()
	}
	l.Namespace, l.Name = c.o.Lease.Namespace, c.o.Lease.Name
	switch {
	case c.phase == Releasing:
		rec = c.rec.release(now.Wall)
	case c.lease == nil:
		rec = record{holder: c.o.Identity}.claim(c.o.Identity, c.o.LeaseDuration, now.Wall, false)
	default:
		rec = c.rec.claim(c.o.Identity, c.o.LeaseDuration, now.Wall, c.mine)
	}
	rec.put(l)
	a.Lease = l
	c.flight.try = try{rec: rec, base: l.ResourceVersion, sent: now}
	if c.phase != Releasing {
		if len(c.tries) == maxTries {
			c.tries = slices.Delete(c.tries, 0, 1)
		}
		c.tries = append(c.tries, c.flight.try)
	}
}

// Answer takes in what became of the request that Next asked for last.
func (c *Core) Answer(now Time, a Answer) {
	f := c.flight
	if f == nil {
		return
	}
	c.flight = nil
	c.expire(now)
	if a.Result == Failed {
		c.err, c.hold = a.Err, f.again
		if c.phase == Releasing {
			c.stale = true
		}
		return
	}
	c.err, c.hold = nil, 0
	if a.Result == Conflict {
		c.conflicts++
		if c.conflicts > maxConflicts {
			c.hold = f.again
		}
		if c.phase == Leading {
			c.again = 0 // the renewal is still to be done
		}
		if c.newest == f.newest {
			c.stale = true
		}
		return
	}
	if a.Result == OK && !f.read {
		c.conflicts = 0
		if f.try.rec.holder != "" {
			c.confirm(try{rec: recordOf(a.Lease), sent: f.try.sent})
		}
	}
	// What the watch has told since the request was sent may be newer. Otherwise the answer counts
	// even if its version is lower: the server itself went back.
	v, ok := version(a.Lease)
	told := c.newest != f.newest
	if told && (!ok || v < c.newest) {
		return
	}
	c.see(now, a.Lease, false)
	if f.before && !told {
		c.unseen()
	}
}

// Observe takes in what a watch has told: the Lease as it is, or as it was when it was deleted.
func (c *Core) Observe(now Time, l *coordinationv1.Lease, deleted bool) {
	c.expire(now)
	v, ok := version(l)
	if ok && (v < c.newest || v == c.newest && !deleted) {
		return
	}
	next := c.watching && !c.stale
	if deleted {
		c.newest = max(c.newest, v)
		if rec := recordOf(l); rec.holder != "" && rec != c.rec && !c.wrote(rec) {
			c.owe(now, rec)
		}
		c.see(now, nil, next)
		return
	}
	c.see(now, l, next)
}

// wrote reports whether rec is of a write of ours.
func (c *Core) wrote(rec record) bool {
	return rec == c.own || slices.ContainsFunc(c.tries, func(t try) bool { return t.rec == rec })
}

// version is the resourceVersion as a number; ok is false if it is none.
func version(l *coordinationv1.Lease) (v uint64, ok bool) {
	if l == nil {
		return 0, false
	}
	v, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	return v, err == nil
}

// Watching says whether there is a watch that tells of every change from now on. At first there
// is none.
func (c *Core) Watching(now Time, ok bool) {
	c.expire(now)
	if ok && !c.watching {
		c.unseen()
		if c.flight != nil {
			c.flight.before = true
		}
	}
	c.watching = ok
}

// unseen says that the Lease may have changed before the watch began, which does not tell of it.
func (c *Core) unseen() {
	switch c.phase {
	case Standby:
		c.stale = true
	case Leading:
		c.again = 0
	}
}

// Stop says that the process is to end. One that leads goes on until Ended; one that does not is
// done, once it has given back what it may have been given meanwhile.
func (c *Core) Stop(now Time) {
	c.expire(now)
	if c.phase != Standby {
		return
	}
	writes := c.flight != nil && !c.flight.read
	if c.o.KeepOnStop || !c.mine && !writes && !c.open() {
		c.phase = Done
		return
	}
	c.release(now, c.o.RenewDeadline)
}

// open reports whether a write that was sent may still be done.
func (c *Core) open() bool {
	base := ""
	if c.lease != nil {
		base = c.lease.ResourceVersion
	}
	return slices.ContainsFunc(c.tries, func(t try) bool { return t.base == base })
}

// Ended says that the work has ended, and nothing will be written any more.
func (c *Core) Ended(now Time) {
	c.expire(now)
	switch {
	case c.o.KeepOnStop:
		c.phase = Done
	case c.phase == Leading:
		c.release(now, c.o.RenewDeadline)
	case c.phase == Lost && c.lost.Reason == Expired && c.mine:
		c.release(now, c.o.RetryPeriod)
	default:
		c.phase = Done
	}
}

func (c *Core) release(now Time, within time.Duration) {
	c.phase, c.giveUp, c.hold, c.conflicts = Releasing, now.Mono+within, 0, 0
	if c.flight == nil && !c.mine {
		c.stale = true
	}
}

// account takes note of a holder who may still lead although l, with rec, does not name it: who
// has not released the lease, and in whose place nobody has taken it. next: l follows what was
// known, with no other state between them.
func (c *Core) account(now Time, l *coordinationv1.Lease, rec record, next bool) {
	again := c.lease != nil && l != nil && l.UID != c.lease.UID
	gone := rec.holder == "" && !rec.released()
	switch {
	case !again && !gone:
	case !c.known:
		c.owed = max(c.owed, now.Mono+c.o.AbsentWait)
	case !again && rec == c.rec && (l == nil) == (c.lease == nil):
	case !next: // whoever held it may have renewed it until just now
		c.owe(now, c.rec)
	case c.rec.holder != "" && !c.mine:
		c.owe(c.since, c.rec)
	}
}

// owe has the holder of rec waited for, who gave its last sign of life at a time.
func (c *Core) owe(at Time, rec record) {
	c.owed = max(c.owed, at.Mono+rec.lasts(c.o.LeaseDuration, c.o.MaxLeaseDuration))
}

// see takes in a Lease that is not older than what is known; nil: there is none. next: it follows
// what was known, with no other state between them.
func (c *Core) see(now Time, l *coordinationv1.Lease, next bool) {
	rec := record{}
	if l != nil {
		rec = recordOf(l)
	}
	c.account(now, l, rec, next)
	c.known, c.stale = true, false
	if l == nil {
		c.lease, c.rec, c.mine = nil, record{}, false
		c.lose(Deleted)
		return
	}
	if c.lease == nil || rec != c.rec {
		c.since, c.conflicts = now, 0
	}
	c.lease, c.rec = l, rec
	c.newest, _ = version(l)
	if i := slices.IndexFunc(c.tries, func(t try) bool { return t.rec == rec }); i >= 0 {
		c.confirm(c.tries[i])
	}
	c.tries = slices.DeleteFunc(c.tries, func(t try) bool { return t.base != l.ResourceVersion })
	c.mine = rec.holder != "" && rec == c.own
	switch {
	case !c.mine && rec.holder != c.o.Identity && rec.holder != "":
		c.lose(Taken)
	case !c.mine:
		c.lose(Edited)
	case c.phase == Standby && now.Mono < c.from.Mono+c.o.RenewDeadline/2:
		c.phase = Leading
	}
}

// confirm takes in that a write of ours was done.
func (c *Core) confirm(t try) {
	c.own = t.rec
	if t.sent.Mono >= c.from.Mono {
		c.from = t.sent
	}
}

// expire notices the end of our time.
func (c *Core) expire(now Time) {
	if c.phase == Leading && now.Mono >= c.Until() {
		c.lose(Expired)
	}
}

func (c *Core) lose(why Reason) {
	if c.phase != Leading {
		return
	}
	c.phase = Lost
	c.lost = &LostError{Lease: c.o.Lease, Identity: c.o.Identity, Reason: why, Holder: c.rec.holder}
	if why == Expired {
		c.lost.Err = c.err
	}
}
