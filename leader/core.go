package leader

import (
	"math"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flyball-io/flyball/object"
)

// Time is one reading of the monotonic and the wall clock.
type Time struct {
	// Mono is the time since a fixed moment. It never goes back, and it advances while the machine
	// is suspended. All decisions use it.
	Mono time.Duration
	// Wall is stamped into the Lease, for other readers. It may jump.
	Wall time.Time
}

// Never is later than every time.
const Never = time.Duration(math.MaxInt64)

// Phase is the phase of a [Core].
type Phase int

// The phases, in the order in which they occur. Some may be left out.
const (
	// Standby: another process holds the lease, or the holder is unknown.
	Standby Phase = iota
	// Leading: this process holds the lease until [Core.Until].
	Leading
	// Lost: this process held the lease and may not hold it now. The work has not ended yet.
	Lost
	// Releasing: the work has ended and the lease is being released.
	Releasing
	// Done: nothing is left to do.
	Done
)

func (p Phase) String() string {
	if p < Standby || p > Done {
		return "phase " + strconv.Itoa(int(p))
	}
	return [...]string{"standby", "leading", "lost", "releasing", "done"}[p]
}

// Do is the kind of an [Action].
type Do int

// The kinds of actions.
const (
	// Wait for an input, and call Next again at Until.
	Wait Do = iota
	// Read the Lease.
	Read
	// Create the Lease of the Action.
	Create
	// Update the Lease to that of the Action. It must replace exactly the version that the Lease's
	// resourceVersion names.
	Update
	// Finish: nothing is left to do.
	Finish
)

func (d Do) String() string {
	if d < Wait || d > Finish {
		return "do " + strconv.Itoa(int(d))
	}
	return [...]string{"wait", "read", "create", "update", "finish"}[d]
}

// Action is the next thing to do.
type Action struct {
	Do Do
	// Until is the time of the next call of Next, or the deadline of the request.
	Until time.Duration
	// Lease to write. It belongs to the caller.
	Lease *coordinationv1.Lease
}

// Result is the outcome of a request.
type Result int

// The results.
const (
	// OK: the answer holds the Lease.
	OK Result = iota
	// Absent: the server has no Lease.
	Absent
	// Conflict: the server has another version of the Lease, or has one that was to be created.
	Conflict
	// Failed: any other error. A write may have been done, or may still be done.
	Failed
)

// Answer is the answer to a request.
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
	// MaxLeaseDuration and AbsentWait: see [Options].
	MaxLeaseDuration, AbsentWait time.Duration
	// KeepOnStop: do not release the lease.
	KeepOnStop bool
}

// Core is the election from one candidate's view. It has no goroutine, lock or clock. One goroutine
// at a time may use it. Make one with [NewCore].
//
// Next returns the next action. After an action that is a request, call Answer; until then Next
// returns no other request. Observe, Watching, Stop and Ended report everything else. Call Next
// again after each of them. Times must not go back.
type Core struct {
	o     Config
	phase Phase
	lost  *LostError

	// The Lease as last seen.
	known     bool                  // the Lease was read or observed at least once
	stale     bool                  // the known version may not be the newest: read again
	lease     *coordinationv1.Lease // nil: the server has none
	rec       record
	mine      bool // rec was written by this Core
	seenAt    Time // when rec was first seen
	newest    uint64
	watching  bool
	waitUntil time.Duration // no claim before: a holder whose lease was taken away may lead until then

	// Own writes.
	lastWrite  record    // the last write that is known to be done
	termStart  Time      // before that write was sent: our term counts from here
	openWrites []attempt // writes with an unknown outcome

	request         *request      // the request without an answer
	nextRequest     time.Duration // next read or renewal
	notBefore       time.Duration // no request before, after a failure
	conflicts       int           // consecutive
	releaseDeadline time.Duration // end of releasing
	err             error
}

// attempt is a write that was sent.
type attempt struct {
	rec  record
	base string // version that it replaces; empty: it creates
	sent Time
}

type request struct {
	read        bool
	attempt     attempt
	newest      uint64        // of the Core, when the request was sent
	retryAt     time.Duration // no request before, if this one fails
	beforeWatch bool          // the watch began after it was sent
}

// Bounds of what a Core remembers and repeats.
const (
	maxOpenWrites = 16
	maxConflicts  = 3 // consecutive, without a pause
)

// jitter is the largest share of a RetryPeriod that is added at random.
const jitter = 0.2

// NewCore returns a Core that has not seen the Lease yet. o must be valid.
func NewCore(o Config) *Core {
	if o.MaxLeaseDuration == 0 {
		o.MaxLeaseDuration = defaultMaxLease(o.LeaseDuration)
	}
	return &Core{o: o}
}

// Phase returns the phase of the election.
func (c *Core) Phase() Phase { return c.phase }

// Until returns the end of our term while Leading, otherwise zero. From then on nothing may be
// written, even if Next was not called since.
func (c *Core) Until() time.Duration {
	if c.phase != Leading {
		return 0
	}
	return c.termStart.Mono + c.o.RenewDeadline
}

// Lost returns why the lease was lost, or nil.
func (c *Core) Lost() *LostError { return c.lost }

// Holder returns the identity that the Lease names. Empty means no holder, or an unknown one.
func (c *Core) Holder() string { return c.rec.holder }

// Renewed returns wall time of this machine: the last renewal of our lease, or the last sign of
// life of another holder that we saw. Zero means never.
func (c *Core) Renewed() time.Time {
	if c.mine {
		return c.termStart.Wall
	}
	if c.rec.holder == "" {
		return time.Time{}
	}
	return c.seenAt.Wall
}

// Err returns the current problem: the failure of the last request, or an [OddLeaseError]. nil
// means none.
func (c *Core) Err() error {
	if c.err != nil {
		return c.err
	}
	if p := c.rec.problem(c.o.Identity, c.o.LeaseDuration, c.o.MaxLeaseDuration); p != "" && !c.mine {
		return &OddLeaseError{Lease: c.o.Lease, Holder: c.rec.holder, Problem: p}
	}
	return nil
}

// Next returns the action for now. random is drawn from [0, 1).
func (c *Core) Next(now Time, random float64) Action {
	c.expire(now)
	if c.phase == Releasing && (now.Mono >= c.releaseDeadline || c.request == nil && c.known && !c.stale && !c.mine) {
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
		bound = c.releaseDeadline
	}
	if c.request != nil {
		return Action{Until: bound}
	}
	at, read := c.plan()
	if at = max(at, c.notBefore); at > now.Mono {
		return Action{Until: min(at, bound)}
	}
	due := now.Mono + c.o.RetryPeriod + time.Duration(random*jitter*float64(c.o.RetryPeriod))
	if c.phase != Leading || !read {
		c.nextRequest = due
	}
	a := Action{Do: Read, Until: min(now.Mono+c.o.RenewDeadline/2, bound)}
	c.request = &request{read: read, newest: c.newest, retryAt: due}
	if !read {
		c.write(now, &a)
	}
	return a
}

// plan returns the time of the next request, and whether it is a read.
func (c *Core) plan() (at time.Duration, read bool) {
	if !c.known || c.stale {
		return 0, true
	}
	switch {
	case c.phase == Leading:
		return c.nextRequest, false
	case c.phase == Releasing, c.mine:
		return 0, false
	}
	freeAt := c.freeAt()
	if !c.watching && c.nextRequest < freeAt {
		return c.nextRequest, true
	}
	return freeAt, false
}

// freeAt returns the time at which this candidate may take a lease that another holds.
func (c *Core) freeAt() time.Duration {
	if c.rec.holder == "" {
		return c.waitUntil
	}
	return max(c.waitUntil, c.seenAt.Mono+c.rec.waitTime(c.o.LeaseDuration, c.o.MaxLeaseDuration))
}

// write completes a as a write of the Lease.
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
	c.request.attempt = attempt{rec: rec, base: l.ResourceVersion, sent: now}
	if c.phase != Releasing {
		if len(c.openWrites) == maxOpenWrites {
			c.openWrites = slices.Delete(c.openWrites, 0, 1)
		}
		c.openWrites = append(c.openWrites, c.request.attempt)
	}
}

// Answer receives the answer to the last request of Next.
func (c *Core) Answer(now Time, a Answer) {
	f := c.request
	if f == nil {
		return
	}
	c.request = nil
	c.expire(now)
	if a.Result == Failed {
		c.err, c.notBefore = a.Err, f.retryAt
		if c.phase == Releasing {
			c.stale = true
		}
		return
	}
	c.err, c.notBefore = nil, 0
	if a.Result == Conflict {
		c.conflicts++
		if c.conflicts > maxConflicts {
			c.notBefore = f.retryAt
		}
		if c.phase == Leading {
			c.nextRequest = 0 // the renewal is still due
		}
		if c.newest == f.newest {
			c.stale = true
		}
		return
	}
	if a.Result == OK && !f.read {
		c.conflicts = 0
		if f.attempt.rec.holder != "" {
			c.confirm(attempt{rec: recordOf(a.Lease), sent: f.attempt.sent})
		}
	}
	// An observation since the request was sent may be newer than the answer. Without one the
	// answer counts even if its version is lower: then the server itself went back.
	v, ok := version(a.Lease)
	observed := c.newest != f.newest
	if observed && (!ok || v < c.newest) {
		return
	}
	c.accept(now, a.Lease, false)
	if f.beforeWatch && !observed {
		c.recheck()
	}
}

// Observe receives an event of the watch: the Lease as it is or, if deleted, as it was.
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
			c.waitFor(now, rec)
		}
		c.accept(now, nil, next)
		return
	}
	c.accept(now, l, next)
}

// wrote reports whether this Core has written rec.
func (c *Core) wrote(rec record) bool {
	return rec == c.lastWrite || slices.ContainsFunc(c.openWrites, func(t attempt) bool { return t.rec == rec })
}

// version returns the resourceVersion as a number. ok is false if it is no number.
func version(l *coordinationv1.Lease) (v uint64, ok bool) {
	if l == nil {
		return 0, false
	}
	v, err := strconv.ParseUint(l.ResourceVersion, 10, 64)
	return v, err == nil
}

// Watching reports whether a watch sends every change from now on. Initially there is none.
func (c *Core) Watching(now Time, ok bool) {
	c.expire(now)
	if ok && !c.watching {
		c.recheck()
		if c.request != nil {
			c.request.beforeWatch = true
		}
	}
	c.watching = ok
}

// recheck handles changes before the start of the watch, which the watch does not report.
func (c *Core) recheck() {
	switch c.phase {
	case Standby:
		c.stale = true
	case Leading:
		c.nextRequest = 0
	}
}

// Stop ends the candidacy. A leader goes on until Ended. A standby is done, after it has released a
// lease that an unanswered write may have won.
func (c *Core) Stop(now Time) {
	c.expire(now)
	if c.phase != Standby {
		return
	}
	writes := c.request != nil && !c.request.read
	if c.o.KeepOnStop || !c.mine && !writes && !c.hasOpenWrite() {
		c.phase = Done
		return
	}
	c.release(now, c.o.RenewDeadline)
}

// hasOpenWrite reports whether a write with an unknown outcome may still be done.
func (c *Core) hasOpenWrite() bool {
	base := ""
	if c.lease != nil {
		base = c.lease.ResourceVersion
	}
	return slices.ContainsFunc(c.openWrites, func(t attempt) bool { return t.base == base })
}

// Ended reports that the work has ended and writes no more.
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
	c.phase, c.releaseDeadline, c.notBefore, c.conflicts = Releasing, now.Mono+within, 0, 0
	if c.request == nil && !c.mine {
		c.stale = true
	}
}

// waitForLastHolder decides whether a holder that l, with record rec, does not name may still lead.
// That is a holder which has not released the lease and which no other holder has replaced. next
// means that l directly follows the known state.
func (c *Core) waitForLastHolder(now Time, l *coordinationv1.Lease, rec record, next bool) {
	recreated := c.lease != nil && l != nil && l.UID != c.lease.UID
	emptied := rec.holder == "" && !rec.released()
	switch {
	case !recreated && !emptied:
	case !c.known:
		c.waitUntil = max(c.waitUntil, now.Mono+c.o.AbsentWait)
	case !recreated && rec == c.rec && (l == nil) == (c.lease == nil):
	case !next: // the holder may have renewed it until just now
		c.waitFor(now, c.rec)
	case c.rec.holder != "" && !c.mine:
		c.waitFor(c.seenAt, c.rec)
	}
}

// waitFor delays claims until the term of rec's holder is over. at is its last sign of life.
func (c *Core) waitFor(at Time, rec record) {
	c.waitUntil = max(c.waitUntil, at.Mono+rec.waitTime(c.o.LeaseDuration, c.o.MaxLeaseDuration))
}

// accept takes in a Lease that is not older than the known one; nil means that the server has none.
// next means that l directly follows the known state.
func (c *Core) accept(now Time, l *coordinationv1.Lease, next bool) {
	rec := record{}
	if l != nil {
		rec = recordOf(l)
	}
	c.waitForLastHolder(now, l, rec, next)
	c.known, c.stale = true, false
	if l == nil {
		c.lease, c.rec, c.mine = nil, record{}, false
		c.lose(Deleted)
		return
	}
	if c.lease == nil || rec != c.rec {
		c.seenAt, c.conflicts = now, 0
	}
	c.lease, c.rec = l, rec
	c.newest, _ = version(l)
	if i := slices.IndexFunc(c.openWrites, func(t attempt) bool { return t.rec == rec }); i >= 0 {
		c.confirm(c.openWrites[i])
	}
	c.openWrites = slices.DeleteFunc(c.openWrites, func(t attempt) bool { return t.base != l.ResourceVersion })
	c.mine = rec.holder != "" && rec == c.lastWrite
	switch {
	case !c.mine && rec.holder != c.o.Identity && rec.holder != "":
		c.lose(Taken)
	case !c.mine:
		c.lose(Edited)
	case c.phase == Standby && now.Mono < c.termStart.Mono+c.o.RenewDeadline/2:
		c.phase = Leading
	}
}

// confirm records that a write of this Core was done.
func (c *Core) confirm(t attempt) {
	c.lastWrite = t.rec
	if t.sent.Mono >= c.termStart.Mono {
		c.termStart = t.sent
	}
}

// expire ends Leading when our term is over.
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
