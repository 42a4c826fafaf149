package leader

import (
	"math"
	"slices"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// event is the kind of an input.
type event uint8

const (
	tick      event = iota // the time of the last output has come
	answered               // the request was answered: result, lease, err
	observed               // the watch reports the Lease as it is
	deleted                // the watch reports a deleted Lease as it was
	watching               // a watch sends every change from now on
	unwatched              // the watch has ended; initially there is none
	stopped                // the candidacy ends
	ended                  // the work has ended; no write follows
)

// input is what has happened.
type input struct {
	event  event
	wall   time.Time // stamped into the Lease, for other readers. It may jump
	result result
	lease  *coordinationv1.Lease
	err    error
}

// result is the outcome of a request.
type result uint8

const (
	ok       result = iota // the answer holds the Lease
	absent                 // the server has no Lease
	conflict               // the server has another version, or has a Lease that was to be created
	failed                 // any other error; a write may have been done, or may still be done
)

// output is what to do next.
type output struct {
	do       action
	lease    *coordinationv1.Lease // to be written. It belongs to the caller
	deadline time.Time             // of the request
	// until is the time of the next tick. Zero means that only an input makes another Step necessary.
	until time.Time
}

type action uint8

const (
	wait   action = iota
	read          // the Lease
	create        // the Lease of the output
	update        // the Lease to that of the output, at exactly the version that it names
	finish        // nothing is left to do
)

// phase is the phase of an election. The phases occur in this order. Some may be left out.
type phase uint8

const (
	standby   phase = iota // another process holds the lease, or the holder is unknown
	leading                // this process holds the lease until the end of its term
	lost                   // this process held the lease and may not hold it now; its work has not ended
	releasing              // the work has ended and the lease is being released
	done                   // nothing is left to do
)

// core is the election from one candidate's view. It has no goroutine, lock or clock. One goroutine
// at a time may use it. Make one with [newCore].
type core struct {
	o     Options
	rand  func() float64 // from [0, 1)
	epoch time.Time      // of the first Step
	phase phase
	lost  *LostError

	// The Lease as last seen.
	known     bool                  // the Lease was read or observed at least once
	stale     bool                  // the known version may not be the newest: read again
	lease     *coordinationv1.Lease // nil: the server has none
	rec       record
	mine      bool    // rec was written by this core
	seenAt    instant // when rec was first seen
	newest    uint64
	watching  bool
	waitUntil time.Duration // no claim before: a holder whose lease was taken away may lead until then

	// Own writes.
	lastWrite  record    // the last write that is known to be done
	termStart  instant   // before that write was sent: our term counts from here
	openWrites []attempt // writes with an unknown outcome

	request         *request      // the request without an answer
	nextRequest     time.Duration // next read or renewal
	notBefore       time.Duration // no request before, after a failure
	conflicts       int           // consecutive
	releaseDeadline time.Duration // end of releasing
	err             error
}

// instant is one reading of the monotonic and of the wall clock.
type instant struct {
	mono time.Duration // since the first Step; all decisions use it
	wall time.Time
}

// never is later than every time.
const never = time.Duration(math.MaxInt64)

// attempt is a write that was sent.
type attempt struct {
	rec  record
	base string // version that it replaces; empty: it creates
	sent instant
}

type request struct {
	read        bool
	attempt     attempt
	newest      uint64        // of the core, when the request was sent
	retryAt     time.Duration // no request before, if this one fails
	beforeWatch bool          // the watch began after it was sent
}

// Bounds of what a core remembers and repeats.
const (
	maxOpenWrites = 16
	maxConflicts  = 3 // consecutive, without a pause
)

// maxJitter is the largest share of a RetryPeriod that is added at random.
const maxJitter = 0.2

// newCore returns a core that has not seen the Lease yet. o must be valid.
func newCore(o Options, rand func() float64) *core { return &core{o: o, rand: rand} }

// Step takes the latest input and returns the next action. now must not go back, and must advance
// while the machine is suspended. One request is under way at a time: no other follows before the
// answer.
func (c *core) Step(now time.Time, in input) output {
	if c.epoch.IsZero() {
		c.epoch = now
	}
	at := instant{now.Sub(c.epoch), in.wall}
	c.take(at, in)
	return c.next(at)
}

// take takes an input.
func (c *core) take(now instant, in input) {
	c.expire(now)
	switch in.event {
	case answered:
		c.answer(now, in)
	case observed, deleted:
		c.observe(now, in.lease, in.event == deleted)
	case watching, unwatched:
		c.watch(in.event == watching)
	case stopped:
		c.stop(now)
	case ended:
		c.end(now)
	}
}

// until returns the end of our term while leading, otherwise zero. From then on nothing may be
// written, even without another Step.
func (c *core) until() time.Duration {
	if c.phase != leading {
		return 0
	}
	return c.termStart.mono + c.o.RenewDeadline
}

// termEnd returns the end of our term in nanoseconds of Unix time, or zero.
func (c *core) termEnd() int64 {
	if c.phase != leading {
		return 0
	}
	return c.time(c.until()).UnixNano()
}

// state returns the election as of the last Step.
func (c *core) state() Leadership {
	s := Leadership{Leading: c.phase == leading, Holder: c.rec.holder, Err: c.problem()}
	switch {
	case c.mine:
		s.Renewed = c.termStart.wall
	case c.rec.holder != "":
		s.Renewed = c.seenAt.wall
	}
	if c.lost != nil {
		s.Err = c.lost
	}
	return s
}

// problem returns the failure of the last request, or an [OddLeaseError], or nil.
func (c *core) problem() error {
	if c.err != nil {
		return c.err
	}
	if p := c.rec.problem(c.o.Identity, c.o.LeaseDuration, c.o.MaxLeaseDuration); p != "" && !c.mine {
		return &OddLeaseError{Lease: c.o.key(), Holder: c.rec.holder, Problem: p}
	}
	return nil
}

// next returns what to do next.
func (c *core) next(now instant) output {
	if c.phase == releasing && (now.mono >= c.releaseDeadline || c.request == nil && c.known && !c.stale && !c.mine) {
		c.phase = done
	}
	bound := never
	switch c.phase {
	case done:
		return output{do: finish}
	case lost:
		return output{}
	case leading:
		bound = c.until()
	case releasing:
		bound = c.releaseDeadline
	}
	if c.request != nil {
		return output{until: c.time(bound)}
	}
	at, reads := c.plan()
	if at = max(at, c.notBefore); at > now.mono {
		return output{until: c.time(min(at, bound))}
	}
	due := now.mono + c.o.RetryPeriod + time.Duration(c.rand()*maxJitter*float64(c.o.RetryPeriod))
	if c.phase != leading || !reads {
		c.nextRequest = due
	}
	out := output{do: read, deadline: c.time(min(now.mono+c.o.RenewDeadline/2, bound)), until: c.time(bound)}
	c.request = &request{read: reads, newest: c.newest, retryAt: due}
	if !reads {
		c.write(now, &out)
	}
	return out
}

// time returns the time of d after the first Step, or zero for never.
func (c *core) time(d time.Duration) time.Time {
	if d == never {
		return time.Time{}
	}
	return c.epoch.Add(d)
}

// plan returns the time of the next request, and whether it is a read.
func (c *core) plan() (at time.Duration, read bool) {
	if !c.known || c.stale {
		return 0, true
	}
	switch {
	case c.phase == leading:
		return c.nextRequest, false
	case c.phase == releasing, c.mine:
		return 0, false
	}
	freeAt := c.freeAt()
	if !c.watching && c.nextRequest < freeAt {
		return c.nextRequest, true
	}
	return freeAt, false
}

// freeAt returns the time from which on this candidate may take the lease of another holder.
func (c *core) freeAt() time.Duration {
	if c.rec.holder == "" {
		return c.waitUntil
	}
	return max(c.waitUntil, c.seenAt.mono+c.rec.waitTime(c.o.LeaseDuration, c.o.MaxLeaseDuration))
}

// write completes a as a write of the Lease.
func (c *core) write(now instant, a *output) {
	l, rec := new(coordinationv1.Lease), record{}
	a.do = create
	if c.lease != nil {
		a.do = update
		l = c.lease.DeepCopy()
	}
	l.Namespace, l.Name = c.o.Namespace, c.o.Name
	switch {
	case c.phase == releasing:
		rec = c.rec.release(now.wall)
	case c.lease == nil:
		rec = record{holder: c.o.Identity}.claim(c.o.Identity, c.o.LeaseDuration, now.wall, false)
	default:
		rec = c.rec.claim(c.o.Identity, c.o.LeaseDuration, now.wall, c.mine)
	}
	rec.put(l)
	a.lease = l
	c.request.attempt = attempt{rec: rec, base: l.ResourceVersion, sent: now}
	if c.phase != releasing {
		if len(c.openWrites) == maxOpenWrites {
			c.openWrites = slices.Delete(c.openWrites, 0, 1)
		}
		c.openWrites = append(c.openWrites, c.request.attempt)
	}
}

// answer takes the answer to the request.
func (c *core) answer(now instant, a input) {
	f := c.request
	if f == nil {
		return
	}
	c.request = nil
	if a.result == failed {
		c.err, c.notBefore = a.err, f.retryAt
		if c.phase == releasing {
			c.stale = true
		}
		return
	}
	c.err, c.notBefore = nil, 0
	if a.result == conflict {
		c.conflicts++
		if c.conflicts > maxConflicts {
			c.notBefore = f.retryAt
		}
		if c.phase == leading {
			c.nextRequest = 0 // the renewal is still due
		}
		if c.newest == f.newest {
			c.stale = true
		}
		return
	}
	if a.result == ok && !f.read {
		c.conflicts = 0
		if f.attempt.rec.holder != "" {
			c.confirm(attempt{rec: recordOf(a.lease), sent: f.attempt.sent})
		}
	}
	// An observation since the request was sent may be newer than the answer. Without one the
	// answer counts even if its version is lower: then the server itself went back.
	v, numeric := version(a.lease)
	observed := c.newest != f.newest
	if observed && (!numeric || v < c.newest) {
		return
	}
	c.accept(now, a.lease, false)
	if f.beforeWatch && !observed {
		c.recheck()
	}
}

// observe takes an event of the watch: the Lease as it is or, if deleted, as it was.
func (c *core) observe(now instant, l *coordinationv1.Lease, deleted bool) {
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

// wrote reports whether this core has written rec.
func (c *core) wrote(rec record) bool {
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

// watch takes whether a watch sends every change from now on.
func (c *core) watch(ok bool) {
	if ok && !c.watching {
		c.recheck()
		if c.request != nil {
			c.request.beforeWatch = true
		}
	}
	c.watching = ok
}

// recheck handles changes before the start of the watch, which the watch does not report.
func (c *core) recheck() {
	switch c.phase {
	case standby:
		c.stale = true
	case leading:
		c.nextRequest = 0
	}
}

// stop ends the candidacy. A leader goes on until its work ends. A standby is done, after it has
// released a lease that an unanswered write may have won.
func (c *core) stop(now instant) {
	if c.phase != standby {
		return
	}
	writes := c.request != nil && !c.request.read
	if c.o.KeepOnStop || !c.mine && !writes && !c.hasOpenWrite() {
		c.phase = done
		return
	}
	c.release(now, c.o.RenewDeadline)
}

// hasOpenWrite reports whether a write with an unknown outcome may still be done.
func (c *core) hasOpenWrite() bool {
	base := ""
	if c.lease != nil {
		base = c.lease.ResourceVersion
	}
	return slices.ContainsFunc(c.openWrites, func(t attempt) bool { return t.base == base })
}

// end records that the work has ended; no write follows.
func (c *core) end(now instant) {
	switch {
	case c.o.KeepOnStop:
		c.phase = done
	case c.phase == leading:
		c.release(now, c.o.RenewDeadline)
	case c.phase == lost && c.lost.Reason == reasonExpired && c.mine:
		c.release(now, c.o.RetryPeriod)
	default:
		c.phase = done
	}
}

func (c *core) release(now instant, within time.Duration) {
	c.phase, c.releaseDeadline, c.notBefore, c.conflicts = releasing, now.mono+within, 0, 0
	if c.request == nil && !c.mine {
		c.stale = true
	}
}

// waitForLastHolder is for a lease l that somebody deleted, made again or emptied. Its last holder may
// not know that yet, and still lead. If that one did not release it, and nobody took over, we wait for
// the end of its term. rec is the record of l. next means that l directly follows the known state.
func (c *core) waitForLastHolder(now instant, l *coordinationv1.Lease, rec record, next bool) {
	recreated := c.lease != nil && l != nil && l.UID != c.lease.UID
	emptied := rec.holder == "" && !rec.released()
	switch {
	case !recreated && !emptied:
	case !c.known:
		c.waitUntil = max(c.waitUntil, now.mono+c.o.AbsentWait)
	case !recreated && rec == c.rec && (l == nil) == (c.lease == nil):
	case !next: // the holder may have renewed it until just now
		c.waitFor(now, c.rec)
	case c.rec.holder != "" && !c.mine:
		c.waitFor(c.seenAt, c.rec)
	}
}

// waitFor delays claims until the term of rec's holder is over. at is its last sign of life.
func (c *core) waitFor(at instant, rec record) {
	c.waitUntil = max(c.waitUntil, at.mono+rec.waitTime(c.o.LeaseDuration, c.o.MaxLeaseDuration))
}

// accept takes in a Lease that is not older than the known one; nil means that the server has none.
// next means that l directly follows the known state.
func (c *core) accept(now instant, l *coordinationv1.Lease, next bool) {
	rec := record{}
	if l != nil {
		rec = recordOf(l)
	}
	c.waitForLastHolder(now, l, rec, next)
	c.known, c.stale = true, false
	if l == nil {
		c.lease, c.rec, c.mine = nil, record{}, false
		c.lose(reasonDeleted)
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
		c.lose(reasonTaken)
	case !c.mine:
		c.lose(reasonEdited)
	case c.phase == standby && now.mono < c.termStart.mono+c.o.RenewDeadline/2:
		c.phase = leading
	}
}

// confirm records that a write of this core was done.
func (c *core) confirm(t attempt) {
	c.lastWrite = t.rec
	if t.sent.mono >= c.termStart.mono {
		c.termStart = t.sent
	}
}

// expire ends our term when it is over.
func (c *core) expire(now instant) {
	if c.phase == leading && now.mono >= c.until() {
		c.lose(reasonExpired)
	}
}

func (c *core) lose(why string) {
	if c.phase != leading {
		return
	}
	c.phase = lost
	c.lost = &LostError{Lease: c.o.key(), Identity: c.o.Identity, Reason: why, Holder: c.rec.holder}
	if why == reasonExpired {
		c.lost.Err = c.err
	}
}
