package sim

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/control/all"
	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/shared"
	"github.com/flyball-io/flyball/internal/simreport"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
	"github.com/flyball-io/flyball/sim/internal/world"
)

var (
	seedFlag   = flag.Uint64("sim.seed", 1, "simulation: draw plans of several faults by this `seed`")
	pairsFlag  = flag.Int("sim.pairs", defaultPairs, "simulation: try `n` plans of several faults, if no single fault fails")
	stopFlag   = flag.Int("sim.failures", 5, "simulation: end after `n` plans that go wrong; 0: after none")
	budgetFlag = flag.Duration("sim.budget", 0, "simulation: try plans of several faults for a `time`, in place of a number of them")
	keepFlag   = flag.Bool("sim.keep", true, "simulation: write plans that go wrong to testdata/sim")
	partFlag   = newPartFlag()
	replayFlag = flag.String("sim.replay", "", "simulation: run this `plan` alone, and print what happens")
)

// exact remembers answers for all checks of a process.
var exact = memo.NewExact(128 << 20)

// checker is a scenario, and all that its runs share.
type checker struct {
	Scenario
	begin     *core.Beginning
	rules     core.Rules
	known     []control.Known
	resources resources
	beginning core.View
	first     uint64 // its version
	recorder  *recorder
	reference *world.Outcome
	states    []judge.State
	settles   []world.Settle
	// drawn is the text of the steps that were drawn; "" for those of a user.
	drawn string
	// loose has the steps after which states are not compared: the program may not manage the object.
	loose map[int]bool
}

// Check runs a scenario without faults, then with each single fault, and if none of these goes wrong, with several of them.
// It fails the test with the story of each plan that goes wrong. It keeps these plans in testdata/sim, from where they are
// tried first. Flags say how much it tries: -sim.pairs, -sim.seed, -sim.budget and -sim.failures; -sim.replay runs one
// plan.
//
// The first check of a machine builds the rules of Kubernetes, which takes 3 to 5 minutes on two cores.
func Check(t *testing.T, s Scenario) {
	t.Helper()
	defer shared.ServeOutside()()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	rec := newRecorder(t, s)
	c, err := newChecker(t.Context(), s)
	if err != nil {
		rec.fatal("%v", err)
	}
	c.recorder = rec
	if err := c.refer(t); err != nil {
		rec.fatal("without a fault: %v", err)
	}
	if *replayFlag != "" {
		c.replay(t, *replayFlag)
	} else if c.kept(t) {
		c.search(t)
	}
	rec.end()
}

// gcPercent is the GOGC of a check. Its heap is small, and each run leaves garbage of a whole program: with 100 a check
// takes a third longer.
const gcPercent = 400

// newChecker checks the scenario and prepares its runs.
func newChecker(ctx context.Context, s Scenario) (*checker, error) {
	if s.Program != nil && len(s.Steps) == 0 {
		return nil, errors.New("Scenario.Steps is empty: without something that is done to it, a program does nothing")
	}
	return prepare(ctx, s)
}

// prepare is newChecker for a scenario that may have no steps yet.
func prepare(ctx context.Context, s Scenario) (*checker, error) {
	if s.Program == nil {
		return nil, errors.New("Scenario.Program is required: the function that runs the whole program")
	}
	if s.Replicas < 0 {
		return nil, fmt.Errorf("Scenario.Replicas is %d: it is a number of processes", s.Replicas)
	}
	if s.Rest == 0 {
		s.Rest = 10 * time.Second
	}
	if s.Heal == 0 {
		s.Heal = 10 * time.Minute
	}
	if s.Controllers == nil {
		s.Controllers = []string{"garbagecollector"}
	}
	if s.Durable == nil {
		s.Durable = []string{"statefulsets.apps", "persistentvolumeclaims", "persistentvolumes", "namespaces", "customresourcedefinitions.apiextensions.k8s.io"}
	}
	c := &checker{Scenario: s}
	var err error
	if c.known, err = control.Choose(all.Controllers, s.Controllers); err != nil {
		return nil, fmt.Errorf("Scenario.Controllers: %w", err)
	}
	files, err := shared.FilesOf(s.CRDs)
	if err != nil {
		return nil, fmt.Errorf("Scenario.CRDs: %w", err)
	}
	definitions, err := shared.ReadDefinitions(s.CRDs, files)
	if err != nil {
		return nil, fmt.Errorf("Scenario.CRDs: %w", err)
	}
	asks, err := shared.AsksFor(ctx, shared.Answers, true, os.Stderr)
	if err != nil {
		return nil, err
	}
	c.rules = core.Rules(exact.Over(shared.Bubbled(memo.Ask(asks.Later))))
	if c.begin, err = asks.Beginning(false, definitions, io.Discard); err != nil {
		return nil, fmt.Errorf("Scenario.CRDs: %w", err)
	}
	state := core.New(core.Options{Rules: asks.Later, Seed: "1", Nobody: core.Administrator})
	state.Begin(time.Now(), c.begin)
	c.first, c.beginning = state.Version(), state.Now()
	return c, nil
}

// config returns a run of the scenario.
func (c *checker) config(p plan.Plan) world.Config {
	o := world.Config{Begin: c.begin, Rules: c.rules, Controllers: c.known, Webhooks: c.Webhooks, Plan: p,
		Always: c.always(), Rest: c.Rest, Bound: max(10*time.Minute, 10*c.Rest), Heal: c.Heal}
	if len(c.Corrects) > 0 {
		o.Corrects = func(key string) bool { return slices.Contains(c.Corrects, judge.ResourceOf(key)) }
	}
	o.Programs = append(o.Programs, world.Program{Run: c.Program})
	for n := 2; n <= c.Replicas; n++ {
		o.Programs = append(o.Programs, world.Program{Name: fmt.Sprintf("replica-%d", n), Run: c.Program})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Others)) {
		o.Programs = append(o.Programs, world.Program{Name: name, Run: c.Others[name]})
	}
	for _, s := range c.Steps {
		o.Steps = append(o.Steps, world.Step{Name: s.name, Do: func(u *world.User) error { return s.do(&c.resources, u) }})
	}
	return o
}

// refer runs the scenario without faults, twice.
func (c *checker) refer(t *testing.T) error {
	c.reference = c.bubble(t, c.config(nil))
	if c.reference.Err != nil {
		return c.reference.Err
	}
	if len(c.reference.Alarms) > 0 {
		return errors.New(strings.Join(c.reference.Alarms, "; "))
	}
	again := c.bubble(t, c.config(nil))
	if err := sameTrace(c.reference.Trace, again.Trace); err != nil {
		return err
	}
	c.refersTo(c.reference)
	for _, s := range c.settles {
		if err := c.invariants(s.View, s.Step); err != nil {
			return err
		}
		if len(s.Caches) > 0 {
			return fmt.Errorf("after step %d: %s", s.Step, strings.Join(s.Caches, "; "))
		}
	}
	return c.startAgain(t)
}

// refersTo makes a run the one that others are compared with.
func (c *checker) refersTo(o *world.Outcome) {
	c.reference, c.settles, c.states = o, o.Settles, nil
	for i, s := range c.settles {
		c.states = append(c.states, c.stateOf(s.View, c.settles[max(i-1, 0)].View))
	}
}

// text names a run: the drawn steps, if there are any, and the plan.
func (c *checker) text(p plan.Plan) string {
	switch {
	case c.drawn == "":
		return p.String()
	case len(p) == 0:
		return c.drawn
	}
	return c.drawn + " " + p.String()
}

// startAgain runs the scenario without faults, and starts all programs anew after its last step. They must leave the
// state as it is: what they have made step by step is what they make at once.
func (c *checker) startAgain(t *testing.T) error {
	last := len(c.Steps) + 1
	o := c.config(nil)
	for _, p := range o.Programs {
		o.Plan = append(o.Plan, plan.Fault{Kind: plan.Restart, At: plan.Point{Program: p.Name, Step: last, Verb: "begin", Object: "step", Nth: 1}})
	}
	o.Steps = append(o.Steps, world.Step{Name: "nothing", Do: func(*world.User) error { return nil }})
	want := c.states[last-1]
	differ := func(v core.View) []judge.Difference { return judge.Differ(want, c.stateOf(v, v), false) }
	o.Same = func(s world.Settle, v core.View) bool { return s.Step < last || len(differ(v)) == 0 }
	out := c.bubble(t, o)
	if out.Err != nil {
		return fmt.Errorf("started again after the last step: %w", out.Err)
	}
	for _, d := range differ(out.Settles[last].View) {
		return fmt.Errorf("a program that is started again after the last step makes something else than one that has seen all steps: then %s", d)
	}
	return nil
}

func (c *checker) stateOf(v, before core.View) judge.State {
	return judge.Of(v, before, c.first, judge.Options{Ignore: c.Ignore, Loose: c.drawn != "", Skip: c.skips})
}

// skips reports whether an object is kept on purpose.
func (c *checker) skips(key string) bool {
	if len(c.Keep) == 0 {
		return false
	}
	return slices.Contains(c.Keep, judge.ResourceOf(key))
}

// always returns the check of the invariants that hold at any time; nil if there are none.
func (c *checker) always() func(core.View) error {
	if len(c.Always) == 0 {
		return nil
	}
	return func(v core.View) error {
		for _, i := range c.Always {
			if err := i.check(v); err != nil {
				return fmt.Errorf("%s: %w", i.name, err)
			}
		}
		return nil
	}
}

func (c *checker) invariants(v core.View, step int) error {
	if step == 0 {
		return nil
	}
	for _, i := range c.Settled {
		if err := i.check(v); err != nil {
			return fmt.Errorf("after step %d, %s: %s: %w", step, c.Steps[step-1].name, i.name, err)
		}
	}
	return nil
}

// run runs a plan, and judges it.
func (c *checker) run(t *testing.T, p plan.Plan) search.Result {
	o := c.config(p)
	o.Stop = true
	before := c.settles[0].View // nothing has been made then
	o.Same = func(s world.Settle, v core.View) bool {
		return (!c.comparable(s) || len(judge.Differ(c.states[s.Step], c.stateOf(v, before), false)) == 0) && c.invariants(v, s.Step) == nil
	}
	r := search.Result{Plan: p, Outcome: c.bubble(t, o)}
	r.Failures, r.FailedStep = c.judge(r)
	return r
}

// comparable reports whether a state has to be that of the run without faults: the user has been told the same. One who
// makes an object anew while the old one is still there has done something else.
func (c *checker) comparable(s world.Settle) bool {
	return !c.loose[s.Step] && slices.Equal(s.Told, c.settles[s.Step].Told)
}

// judge says what of an outcome is wrong.
func (c *checker) judge(r search.Result) (out []string, step int) {
	step = -1
	fail := func(at int, format string, args ...any) {
		if step < 0 {
			step = at
		}
		out = append(out, fmt.Sprintf(format, args...))
	}
	out = append(out, r.Outcome.Alarms...)
	lasts := slices.ContainsFunc(r.Plan, func(f plan.Fault) bool { return f.Last() > f.At.Step })
	before := c.settles[0].View
	for i, s := range r.Outcome.Settles {
		if i == 0 {
			before = s.View
		}
		for _, d := range s.Caches {
			fail(s.Step, "%s", d)
		}
		if !s.Lasting {
			if c.comparable(s) {
				for _, d := range judge.Differ(c.states[s.Step], c.stateOf(s.View, before), !lasts) {
					fail(s.Step, "%s", strings.Join(append([]string{d.String()}, d.Fields(maxFields, "without a fault")...), "\n  "))
				}
			}
			if err := c.invariants(s.View, s.Step); err != nil {
				fail(s.Step, "%v", err)
			}
		}
		for key, n := range s.Deleted {
			if want := c.settles[s.Step].Deleted[key]; n > want && slices.Contains(c.Durable, judge.ResourceOf(key)) {
				fail(s.Step, "%s is deleted %d times, and %d times without a fault: what it holds is lost", judge.Name(key), n, want)
			}
		}
		before = s.View
	}
	if r.Outcome.Err != nil {
		fail(len(r.Outcome.Settles), "%v", r.Outcome.Err)
	}
	slices.Sort(out)
	return out, step
}

// maxFields bounds the fields of an object that are told.
const maxFields = 8

// search tries all single faults, and plans of several, and tells what went wrong.
func (c *checker) search(t *testing.T) {
	began := time.Now()
	s := c.searched(t, partFlag, *stopFlag, *pairsFlag)
	var lines []string
	for _, r := range s.Failures() {
		r = s.Smaller(r)
		lines = append(lines, c.text(r.Plan))
		c.tellConfirmed(t, r)
	}
	c.recorder.searched(c, s)
	c.recorder.keep("plans", lines)
	n := s.Counts()
	t.Logf("sim: %d of %d single faults and %d pairs in %d runs, %v: %d failed", n.Done, n.Faults, n.Pairs, n.Runs, time.Since(began).Round(time.Millisecond), n.Failed)
}

// points are those of the run without faults.
func (c *checker) points() search.Points {
	return search.Points{All: c.reference.Points, Steps: len(c.Steps), Replicas: c.Replicas > 1, Hooked: c.reference.Hooked, Queued: c.reference.Queued}
}

// searched searches until stop plans have failed. Plans of several faults are tried only if none of a single one fails.
func (c *checker) searched(t *testing.T, part *part, stop, pairs int) *search.Search {
	began := time.Now()
	points := c.points()
	faults := part.of(points.Singles())
	shown := began
	s := search.New(search.Options{
		Points: points, Run: func(p plan.Plan) search.Result { return c.run(t, p) }, Workers: runtime.GOMAXPROCS(0), Stop: stop,
		Progress: func(n search.Counts) {
			c.recorder.progress(n)
			if now := time.Now(); now.Sub(shown) > 5*time.Second {
				shown = now
				fmt.Fprintf(os.Stderr, "sim: %s: %d of %d single faults, %d pairs, %d failed\n", t.Name(), n.Done, n.Faults, n.Pairs, n.Failed)
			}
		},
	})
	s.Singles(faults, len(c.Steps))
	if *budgetFlag > 0 {
		for seed := *seedFlag; time.Since(began) < *budgetFlag && len(s.Failures()) == 0; seed++ {
			s.Pairs(faults, 25, seed)
			s.Deeper(25, seed)
		}
	} else if len(s.Failures()) == 0 {
		s.Pairs(faults, pairs/2, *seedFlag)
		s.Deeper(pairs-pairs/2, *seedFlag)
	}
	return s
}

// replay runs one plan, and prints what happens.
func (c *checker) replay(t *testing.T, text string) {
	p, err := plan.Parse(text)
	if err != nil {
		c.recorder.fatal("-sim.replay: %v", err)
	}
	r := c.run(t, p)
	c.replayed(t, r, r.Met())
}

// replayed prints what happened in a run.
func (c *checker) replayed(t *testing.T, r search.Result, met bool) {
	c.recorder.report.Replayed, c.recorder.report.Runs = simreport.Visible(c.text(r.Plan), maxPlan), 1
	if !met {
		c.recorder.error("%s: %s meets nothing", meetsNothing, c.text(r.Plan))
	}
	for _, e := range r.Outcome.Trace {
		t.Log(e)
	}
	if len(r.Failures) > 0 {
		c.tell(t, r)
		return
	}
	c.recorder.story(c, r)
	if met {
		t.Log("sim: " + nothingWrong)
	}
}
