// Package world runs programs against an API server in memory, in a bubble of testing/synctest. It decides on all that
// can come in another order: the next request, the next event, and when time passes.
//
//	program ──▶ RoundTrip: parked ──▶ ┐
//	                                  ├─ one goroutine: the plan, core.State, controllers ──▶ trace, settles
//	program ◀── stream: a frame   ◀── ┘
//
// Each program is reached by rest.Config.Transport, and one of Flyball also by the functions of package ctxkey in its
// context. Requests are answered one at a time, in the order of their texts, when nothing else in the bubble can run:
// all but those for discovery, which change nothing. So one plan has one trace.
package world

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/sim/internal/plan"
)

// Host is the address of the server for programs.
const Host = "http://simulation.invalid"

// Config is a scenario as the world sees it.
type Config struct {
	Begin       *core.Beginning
	Rules       core.Rules
	Controllers []control.Known
	// Programs run at the same time. The first is the one that faults of an empty program name meet.
	Programs []Program
	Steps    []Step
	// Webhooks answers the calls of webhooks. nil: they cannot be reached.
	Webhooks http.Handler
	Plan     plan.Plan
	// Rest is how long nothing may be written for a settle. Bound is how long it may take.
	Rest, Bound time.Duration
	// Heal is how long the programs get, after a settle, until Same holds.
	Heal time.Duration
	// Always checks each state; nil: it is not checked.
	Always func(core.View) error
	// Same reports whether the state is as it has to be after a step; nil: always. It is not asked while a fault lasts.
	Same func(Settle, core.View) bool
	// Corrects reports whether programs have to undo what somebody else changes in an object; nil: in none.
	Corrects func(key string) bool
	// Acts counts what is done, for a watch from outside. nil: nobody watches.
	Acts *atomic.Int64
	// Stop ends the run after the first settle that is not as it has to be.
	Stop bool
}

// Program is a program of the scenario.
type Program struct {
	Name string // "" for the first
	Run  func(ctx context.Context, cfg *rest.Config) error
}

// Step is what somebody does when all is at rest.
type Step struct {
	Name string
	Do   func(*User) error
}

// Settle is the state when all has come to rest after a step. Step zero is the start.
type Settle struct {
	Step int
	View core.View
	// Deleted counts the objects that programs have deleted since the begin of the run, by key. An object counts if it
	// existed when the step began or, if later, when a program restarted on an old view.
	Deleted map[string]int
	// Lasting says that a fault lasts beyond the step, so that the state may be another one.
	Lasting bool
	// Told has the codes of all answers to the user so far. A user who is told something else has done something else.
	Told []int
	// Same is the answer of Config.Same.
	Same bool
	// Caches says what of the programs' caches is not as on the server.
	Caches []string
}

// Outcome is what happened in a run.
type Outcome struct {
	Settles []Settle
	Trace   []Entry
	// Points are the choices that the run met.
	Points []plan.Point
	// Hooked has the points at which webhooks of the scenario were called.
	Hooked map[plan.Point]bool
	// Queued has the programs whose queues ask which item is first.
	Queued map[string]bool
	// Met says for each fault of the plan whether its point was met.
	Met []bool
	// Alarms are acts of programs that are wrong whatever the state is afterwards.
	Alarms []string
	// Err says why the run ended early.
	Err error
}

// world is one run.
type world struct {
	c     Config
	state *core.State
	set   *control.Set
	due   time.Time // when the controllers act without a change
	// stepAt is when they see the last changes; zero if they have. stepped is the version that they have seen.
	stepAt  time.Time
	stepped uint64
	out     *Outcome
	step    int
	acted   int                // the last step that the user has done
	counts  map[plan.Point]int // with Nth zero
	procs   []*process
	user    *User
	began   time.Time
	wrote   time.Time // the last write that is no heartbeat
	// over is when the last fault that takes a while is over: a rest begins after it.
	over   time.Time
	silent time.Time // when the last silence of watches is over
	// called counts the calls of webhooks. hooksAway says that they cannot be reached.
	called    int
	hooksAway bool
	looked    uint64 // the version of the last state that was checked
	// moot says that a fault has made the scenario impossible, so that the run ends and says nothing.
	moot bool
	// missed says that a fault has lasted beyond a step. What the user needs for the next steps may not be there.
	missed bool
	deeds  int       // calls and deliveries since the step began
	limit  int       // the most of them
	marked time.Time // the last bookmarks

	// burst says that events come before calls, as from a buffer that was held back.
	burst bool
	// first is a call that waits until all else has happened.
	first *call
	// watched has the paths that programs have watched, after the name of the program and a space.
	watched  map[string]bool
	timers   []timer
	refused  map[string]plan.Kind // faults of the next watch, by the program and a path as in watched
	reversed map[string]bool      // resources whose lists are in the opposite order
	told     []int                // the codes of the answers to the user, so far
	deleted  map[string]int
	managers map[string]bool  // the names under which programs have written
	leases   map[string]lease // by key
	drawn    drawn
	base     core.View // in which objects have to be that count as deleted

	asking  sync.Mutex // one goroutine reads the state while the world waits
	mu      sync.Mutex
	parked  []*call
	noted   []string // alarms of other goroutines
	arrived chan struct{}
}

// maxDeeds bounds the calls and deliveries of a step, and mostHeld those while something is held back: a program that
// sees the past of one kind and the present of another may go round until it sees both.
const (
	maxDeeds = 20000
	mostHeld = 500
)

// cannot is the code of a step that the user could not do.
const cannot = -1

// Run runs a scenario. The caller is in a bubble, whose goroutines all end before Run returns, unless a program leaves
// some.
func Run(c Config) *Outcome {
	w := &world{c: c, out: &Outcome{Met: make([]bool, len(c.Plan)), Hooked: map[plan.Point]bool{}, Queued: map[string]bool{}}, counts: map[plan.Point]int{}, arrived: make(chan struct{}, 1), began: time.Now()}
	w.state = core.New(core.Options{Rules: c.Rules, Seed: "1", Nobody: core.Administrator, Controllers: len(c.Controllers) > 0})
	w.state.Begin(w.began, c.Begin)
	w.user = &User{w: w}
	w.leases = map[string]lease{}
	w.deleted, w.watched, w.reversed, w.managers = map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	w.refused = map[string]plan.Kind{}
	if len(c.Controllers) > 0 {
		w.set = control.NewSet(c.Controllers, control.Options{})
		for _, r := range w.set.Boot(w.state.Now()) {
			w.do("cluster", r)
		}
	}
	if err := w.run(); w.out.Err == nil && err != errMoot { // else a program has ignored its end before
		w.out.Err = err
	}
	w.endAll()
	return w.out
}

func (w *world) run() error {
	w.open()
	for _, p := range w.c.Programs {
		proc := &process{w: w, program: p}
		w.procs = append(w.procs, proc)
		proc.start()
	}
	for w.step = 0; w.step <= len(w.c.Steps); w.step++ {
		if w.step > 0 {
			w.open()
			w.begin()
		}
		if err := w.act(); err != nil {
			if !w.missed {
				return err
			}
			w.log(laneFault, "the user cannot do it: %v", err)
			w.told = append(w.told, cannot)
		}
		if err := w.settleHeld(); err != nil {
			return err
		}
		if err := w.release(); err != nil {
			return err
		}
		if err := w.edits(); err != nil {
			return err
		}
		s := Settle{Step: w.step, Lasting: w.lasting(), Same: true, Told: slices.Clone(w.told)}
		if err := w.heal(&s); err != nil {
			return err
		}
		w.alarmNoted()
		s.View, s.Deleted = w.state.Now(), maps.Clone(w.deleted)
		w.log(laneWorld, "at rest")
		w.missed = w.missed || s.Lasting
		w.out.Settles = append(w.out.Settles, s)
		if !s.good() && w.c.Stop {
			return nil
		}
	}
	return nil
}

// open begins a step: its points are counted anew.
func (w *world) open() {
	clear(w.counts)
	w.deeds, w.limit = 0, maxDeeds
	w.base = w.state.Now()
}

// act does what the user does in the present step, if that is not done.
func (w *world) act() error {
	w.wrote = time.Now()
	if w.acted == w.step {
		return nil
	}
	w.acted = w.step
	s := w.c.Steps[w.step-1]
	w.log(laneUser, "%s", s.Name)
	if err := s.Do(w.user); err != nil {
		return fmt.Errorf("step %d, %s: %w", w.step, s.Name, err)
	}
	w.wrote = time.Now()
	return nil
}

// begin meets the faults of the begin of a step.
func (w *world) begin() {
	for _, p := range w.procs {
		at := plan.Point{Program: p.program.Name, Step: w.step, Verb: "begin", Object: "step", Nth: 1}
		w.out.Points = append(w.out.Points, at)
		switch f := w.fault(at); {
		case f == nil:
		case f.Kind == plan.Restart:
			w.log(laneFault, "%s is restarted", p)
			p.restart()
		case f.Kind == plan.LastFirst:
			w.log(laneFault, "%s is restarted; what is ready last is first from now on", p)
			p.lastFirst = true
			p.restart()
		case f.Kind == plan.Partition:
			w.outage(p, f.Kind)
		case f.Kind == plan.Hour:
			w.log(laneFault, "an hour passes")
			w.over = time.Now().Add(time.Hour)
			w.limit += 10 * maxDeeds // so much can happen in an hour
		}
	}
	if err := w.settle(); err != nil {
		w.out.Err = err
	}
}

// heal gives the programs time until the state is as it has to be, and their caches are as the server.
func (w *world) heal(s *Settle) error {
	if s.Lasting {
		return nil
	}
	for end := time.Now().Add(w.c.Heal); ; {
		s.Caches = w.cachesDiffer()
		s.Same = w.c.Same == nil || w.c.Same(*s, w.state.Now())
		if s.good() || !time.Now().Before(end) {
			return nil
		}
		before := w.state.Version()
		for w.state.Version() == before && time.Now().Before(end) && (len(s.Caches) == 0 || len(w.cachesDiffer()) > 0) {
			w.sleep(time.Until(end))
			if err := w.work(); err != nil {
				return err
			}
		}
		w.wrote = time.Now()
		if err := w.settle(); err != nil {
			return err
		}
		s.Step, s.Told = w.step, slices.Clone(w.told)
	}
}

// good reports whether the state and the caches are as they have to be.
func (s *Settle) good() bool { return s.Same && len(s.Caches) == 0 }

// settle lets all happen until nothing has been written for a while.
func (w *world) settle() error {
	begun := time.Now()
	for {
		if err := w.work(); err != nil {
			return err
		}
		now := time.Now()
		left := latest(w.wrote, w.over).Add(w.c.Rest).Sub(now)
		switch {
		case left <= 0:
			return nil
		case now.Sub(latest(begun, w.over)) > w.c.Bound:
			return &RestlessError{Step: w.step, After: w.c.Bound, Last: w.last()}
		}
		w.sleep(left)
	}
}

// settleHeld is settle while a fault may hold something back. What does not come to rest then sees all from now on.
func (w *world) settleHeld() error {
	if !w.holds() {
		return w.settle()
	}
	limit := w.limit
	w.limit = w.deeds + mostHeld
	err := w.settle()
	w.limit = limit
	if _, restless := err.(*RestlessError); !restless {
		return err
	}
	if w.holds() {
		w.log(laneFault, "it does not come to rest like that, so nothing is held back any more")
		w.letGo()
	}
	return w.settle() // if nothing was held back to the end, it may have been at work since
}

// sleep lets time pass until a request comes, something is due, or d is over.
func (w *world) sleep(d time.Duration) {
	now := time.Now()
	if !w.due.IsZero() && w.due.Sub(now) < d {
		d = w.due.Sub(now)
	}
	if at := w.held(); !at.IsZero() && at.Sub(now) < d {
		d = at.Sub(now)
	}
	if at := w.marked.Add(bookmarks); at.Sub(now) < d && w.marks() {
		d = at.Sub(now)
	}
	if d <= 0 {
		d = time.Nanosecond
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.arrived:
	case <-timer.C:
	}
}

// work does all that can be done without time passing.
func (w *world) work() error {
	for {
		synctest.Wait()
		switch done, err := w.deed(); {
		case err != nil:
			return err
		case !done:
			return nil
		}
		if w.c.Acts != nil {
			w.c.Acts.Add(1)
		}
		w.look()
		w.deeds++
		if w.deeds > mostHeld && time.Now().Before(w.silent) {
			w.log(laneFault, "it does not come to rest like that, so nothing is silent any more")
			w.letGo()
			w.deeds = 0
		}
		if w.deeds > w.limit {
			return &RestlessError{Step: w.step, Deeds: w.deeds, Last: w.last()}
		}
	}
}

// deed does one thing: it answers a call, delivers an event, steps the controllers, or goes on with what waits for all
// else. It reports false if there is nothing to do.
func (w *world) deed() (bool, error) {
	if err := w.ended(); err != nil {
		return false, err
	}
	if w.moot {
		return false, errMoot
	}
	if w.burst = w.burst && w.deliverNext(); w.burst {
		return true, nil
	}
	if c := w.next(); c != nil {
		w.meet(c)
		return true, nil
	}
	if w.deliverNext() || w.control() || w.fire() {
		return true, nil
	}
	if c := w.first; c != nil {
		w.first = nil
		w.answer(c, nil)
		return true, nil
	}
	return w.bookmark(), nil
}

// look checks what holds at any time, if the state is another one than at the last look.
func (w *world) look() {
	if w.c.Always == nil || w.state.Version() == w.looked {
		return
	}
	w.looked = w.state.Version()
	if err := w.c.Always(w.state.Now()); err != nil {
		w.alarm("step %d, while it works: %v", w.step, err)
	}
}

// timer is something that the world does later.
type timer struct {
	at time.Time
	do func()
}

// at does something after a while.
func (w *world) at(d time.Duration, do func()) {
	w.timers = append(w.timers, timer{time.Now().Add(d), do})
}

// fire does the first thing that is due. It reports false if nothing is.
func (w *world) fire() bool {
	for i, t := range w.timers {
		if !time.Now().Before(t.at) {
			w.timers = slices.Delete(w.timers, i, i+1)
			t.do()
			return true
		}
	}
	return false
}

// reaction is how long the controllers of the cluster take to see a change.
const reaction = 100 * time.Millisecond

// control steps the controllers of the cluster, if a change has reached them or something is due. It reports whether they
// made requests.
func (w *world) control() bool {
	if w.set == nil {
		return false
	}
	now := time.Now()
	if w.stepAt.IsZero() && w.state.Version() != w.stepped {
		w.stepAt = now.Add(reaction)
	}
	if (w.stepAt.IsZero() || now.Before(w.stepAt)) && (w.due.IsZero() || now.Before(w.due)) {
		return false
	}
	w.stepAt, w.stepped = time.Time{}, w.state.Version()
	requests, due := w.set.Step(now, w.state.Now())
	w.due = due
	for _, r := range requests {
		if !w.set.Void(r) {
			w.set.Answer(now, r, w.do("cluster", r.Request))
		}
	}
	return len(requests) > 0
}

// do makes a request of the cluster or of a user.
func (w *world) do(who string, r core.Request) core.Answer {
	before := w.state.Version()
	a := w.stepWithHooks(r)
	if w.state.Version() != before {
		w.wrote = time.Now()
		if who == "cluster" {
			w.log(laneCluster, "%s %s: %d", r.Method, r.URL, a.Code)
		}
	}
	return a
}

// endAll ends all programs.
func (w *world) endAll() {
	for _, p := range w.procs {
		if err := p.kill(); err != nil && w.out.Err == nil {
			w.out.Err = err
		}
	}
	synctest.Wait()
}

// ended notes programs that have ended by themselves, and starts them again as the kubelet does. After a fault a program
// may end with an error, but no fault excuses a panic.
func (w *world) ended() error {
	for _, p := range w.procs {
		select {
		case err := <-p.done:
			p.done = nil
			if _, panicked := err.(*PanicError); panicked || p.starts >= maxStarts || p.faultless() {
				return &EndedError{Program: p.String(), Err: err}
			}
			w.log(laneProgram, "%s ended: %s", p, text(err))
			p.later()
		default:
		}
	}
	return nil
}

// RestlessError says that a step does not come to rest.
type RestlessError struct {
	Step  int
	After time.Duration
	Deeds int
	Last  []string
}

func (e *RestlessError) Error() string {
	what := fmt.Sprintf("after %v of virtual time there are still writes", e.After)
	if e.Deeds > 0 {
		what = fmt.Sprintf("%d calls and events without a pause", e.Deeds)
	}
	return fmt.Sprintf("step %d does not come to rest: %s; the last calls:\n\t%s", e.Step, what, strings.Join(e.Last, "\n\t"))
}

// EndedError says that a program has ended although nobody told it to.
type EndedError struct {
	Program string
	Err     error
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s has ended, although its context had not: %s", e.Program, text(e.Err))
}

func (e *EndedError) Unwrap() error { return e.Err }

func text(err error) string {
	if err == nil {
		return "it returned nil"
	}
	return err.Error()
}
