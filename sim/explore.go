package sim

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/shared"
	"github.com/flyball-io/flyball/internal/manifest"
	"github.com/flyball-io/flyball/sim/internal/draw"
	"github.com/flyball-io/flyball/sim/internal/judge"
	"github.com/flyball-io/flyball/sim/internal/plan"
	"github.com/flyball-io/flyball/sim/internal/search"
	"github.com/flyball-io/flyball/sim/internal/world"
)

var sequencesFlag = flag.Int("sim.sequences", defaultSequences, "simulation: explore `n` sequences of objects")

// Exploration is a program, and an object that is changed at random.
type Exploration struct {
	// Scenario is the program. Its Steps are done first, and may be none; they make what the object refers to.
	Scenario Scenario
	// From is a file with one object of a custom resource among Scenario.CRDs, one that the program manages well. All
	// others are drawn from it: what its schema cannot say, such as a reference, still holds.
	From string
	// Fixed has fields that are not changed, such as "spec.className", and all below.
	Fixed []string
	// History says that what the program makes may depend on what the object was before. Then only what a deletion
	// leaves is compared.
	History bool
}

// explorer is an exploration, and all that its runs share.
type explorer struct {
	*checker // of the scenario; its steps are those that are done first
	Exploration
	object    manifest.Object
	base      map[string]any
	name, key string // of the object
	schema    *draw.Schema

	mu     sync.Mutex
	made   map[string]*made // by the text of the document
	counts explored
}

// explored are the numbers of an exploration.
type explored struct{ sequences, objects, refused, runs, failed int }

// Explore draws sequences of objects from the schema of a custom resource: values of its fields, changes, removals,
// deletions, and bad values before good ones. It judges a program by them without being told what is right:
//
//   - An object that was changed has to come to what the same object comes to when it is made at once.
//   - After a deletion nothing is there that was not there before.
//   - All that needs no comparison, as in [Check]: rest, panics, deletes, caches, invariants.
//
// What the server refuses, by the schema, by CEL or by a webhook, is no step: another object is drawn. Each sequence
// then runs with some faults of [Check].
//
// It fails the test with the story of each sequence that goes wrong, made as small as can be. It keeps these sequences
// in testdata/sim. Flags say how much it tries: -sim.sequences, -sim.seed and -sim.budget; -sim.replay runs one sequence.
func Explore(t *testing.T, e Exploration) {
	t.Helper()
	defer shared.ServeOutside()()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	rec := newRecorder(t, e.Scenario)
	x, err := newExplorer(t.Context(), e)
	if err != nil {
		rec.fatal("%v", err)
	}
	x.recorder = rec
	if err := x.refer(t); err != nil {
		rec.fatal("the object of %s, without a change: %v", e.From, err)
	}
	if *replayFlag != "" {
		x.replay(t, *replayFlag)
	} else if rec.kept(func(line string) (*checker, search.Result, bool, error) { return x.again(t, line) }) {
		x.search(t)
	}
	rec.end()
}

// newExplorer checks an exploration and prepares its runs.
func newExplorer(ctx context.Context, e Exploration) (*explorer, error) {
	c, err := prepare(ctx, e.Scenario)
	if err != nil {
		return nil, err
	}
	if e.From == "" {
		return nil, errors.New("Exploration.From is required: a file with an object that the program manages well")
	}
	objs, err := manifest.Read(e.From)
	if err != nil {
		return nil, fmt.Errorf("Exploration.From: %w", err)
	}
	if len(objs) != 1 {
		return nil, fmt.Errorf("Exploration.From: %s has %d objects, want one: others can be made by Scenario.Steps", e.From, len(objs))
	}
	x := &explorer{checker: c, Exploration: e, object: objs[0], made: map[string]*made{}}
	text, err := json.Marshal(x.object)
	if err != nil {
		return nil, fmt.Errorf("Exploration.From: %w", err)
	}
	if err := json.Unmarshal(text, &x.base); err != nil {
		return nil, fmt.Errorf("Exploration.From: %w", err)
	}
	delete(x.base, "status")
	if err := x.find(); err != nil {
		return nil, fmt.Errorf("Exploration.From: %s: %w", e.From, err)
	}
	return x, nil
}

// definition is what is read of a custom resource definition.
type definition struct {
	Spec struct {
		Group    string
		Scope    string
		Names    struct{ Kind, Plural string }
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema json.RawMessage }
		}
	}
}

// find finds the definition of the object.
func (x *explorer) find() error {
	gvk := x.object.GroupVersionKind()
	for o := range x.beginning.All("/apiextensions.k8s.io/customresourcedefinitions/") {
		var d definition
		if err := json.Unmarshal(o.JSON, &d); err != nil {
			return err
		}
		for _, v := range d.Spec.Versions {
			if d.Spec.Group != gvk.Group || d.Spec.Names.Kind != gvk.Kind || v.Name != gvk.Version {
				continue
			}
			x.key = "/" + gvk.Group + "/" + d.Spec.Names.Plural + "/"
			if d.Spec.Scope == "Namespaced" {
				if x.object.GetNamespace() == "" {
					x.object.SetNamespace("default")
				}
				x.key += x.object.GetNamespace() + "/"
			}
			x.key += x.object.GetName()
			x.name = judge.Name(x.key)
			var err error
			x.schema, err = draw.Parse(v.Schema.OpenAPIV3Schema)
			return err
		}
	}
	return fmt.Errorf("no definition among Scenario.CRDs has the kind %s of %s", gvk.Kind, gvk.GroupVersion())
}

// of returns the checker of a course.
func (x *explorer) of(c course) *checker {
	steps := slices.Clone(x.Steps)
	for _, e := range c.states {
		steps = append(steps, x.step(e))
	}
	return x.with(steps, compact(c.states))
}

// with returns a checker of other steps.
func (x *explorer) with(steps []Step, text string) *checker {
	c := &checker{Scenario: x.checker.Scenario, begin: x.begin, rules: x.rules, known: x.known, beginning: x.beginning, first: x.first, recorder: x.recorder, drawn: text}
	c.Steps = steps
	return c
}

// refer makes the object as it is, and deletes it.
func (x *explorer) refer(t *testing.T) error {
	co := course{states: []*draw.Edit{{}, nil}}
	if err := x.of(co).refer(t); err != nil {
		return err
	}
	if _, r, _ := x.try(t, co); len(r.Failures) > 0 {
		return errors.New(strings.Join(r.Failures, "\n"))
	}
	return nil
}

// draws returns n courses without faults.
func (x *explorer) draws(t *testing.T, n int, seed uint64) (out []course, err error) {
	random := rand.New(rand.NewPCG(seed, 3))
	source := draw.NewSource(x.schema, random, x.Fixed)
	for range n {
		co := course{}
		steps := append(slices.Clone(x.Steps), Step{"draw", func(known *resources, u *world.User) error {
			co = course{x.draw(random, source, func(doc map[string]any) error {
				if doc == nil {
					return x.drop(known, u)
				}
				return x.put(known, u, doc)
			}), nil}
			return nil
		}})
		o := x.with(steps, "").config(nil)
		o.Programs, o.Always = nil, nil
		if got := x.bubble(t, o); got.Err != nil {
			return nil, fmt.Errorf("without a program: %w", got.Err)
		}
		out = append(out, co)
	}
	return out, nil
}

// maxRefused is how often another object is drawn in place of one that the server refuses.
const maxRefused = 20

// draw draws one sequence. Put makes the object what a document says, or deletes it.
func (x *explorer) draw(random *rand.Rand, source *draw.Source, put func(map[string]any) error) (out []*draw.Edit) {
	last := x.base
	there := false
	add := func(doc map[string]any) bool {
		if err := put(doc); err != nil {
			x.counts.refused++
			return false
		}
		there = doc != nil
		if !there {
			out = append(out, nil)
			return true
		}
		last = doc
		e := draw.Between(x.base, doc)
		out = append(out, &e)
		x.counts.objects++
		return true
	}
	change := func() {
		for range maxRefused {
			doc := last
			for range 1 + random.IntN(5)/3 + random.IntN(5)/4 { // mostly one change
				if next := source.Next(doc); next != nil {
					doc = next
				}
			}
			if compact(doc) != compact(last) && add(doc) {
				return
			}
		}
	}
	if random.IntN(3) > 0 {
		add(x.base)
	}
	for range 2 + random.IntN(3) {
		switch n := random.IntN(10); {
		case n < 2 && there && compact(last) != compact(x.base):
			add(x.base)
		case n == 2 && there:
			add(nil)
		default:
			change()
		}
	}
	if random.IntN(2) == 0 && compact(last) != compact(x.base) {
		add(x.base) // bad, then good
	}
	if there {
		add(nil)
	}
	return out
}

// faultsOfEach is how many faults each sequence meets, each alone.
const faultsOfEach = 2

// search tries sequences, and tells what went wrong.
func (x *explorer) search(t *testing.T) {
	began := time.Now()
	failures, err := x.searched(t, *stopFlag, *sequencesFlag)
	if err != nil {
		x.recorder.fatal("%v", err)
	}
	var lines []string
	known := map[string]bool{} // what has been told: one cause shows by many values
	for _, co := range failures {
		co, c, r := x.smaller(t, co)
		if what := strings.Join(r.Failures, "\n"); !known[what] {
			known[what] = true
			lines = append(lines, co.String())
			c.tellConfirmed(t, r)
		}
	}
	n := x.counts
	x.recorder.report.Runs, x.recorder.report.Until = n.runs, time.Now()
	x.recorder.keep("sequences", lines)
	t.Logf("sim: %d sequences of %d objects in %d runs, %v: %d failed; the server refused %d other objects", n.sequences, n.objects, n.runs, time.Since(began).Round(time.Millisecond), n.failed, n.refused)
}

// searched tries n sequences, or more as long as -sim.budget says, until stop of them have failed.
func (x *explorer) searched(t *testing.T, stop, n int) (failures []course, err error) {
	began := time.Now()
	for seed := *seedFlag; ; seed++ {
		courses, err := x.draws(t, n, seed)
		if err != nil {
			return nil, err
		}
		failures = x.tryAll(t, courses, stop, seed, began)
		if len(failures) > 0 || time.Since(began) >= *budgetFlag {
			return failures, nil
		}
	}
}

// tryAll tries courses, several at a time. It returns those that fail, in their order.
func (x *explorer) tryAll(t *testing.T, courses []course, stop int, seed uint64, began time.Time) (failures []course) {
	next := make(chan int)
	found := map[int]course{}
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range next {
				co, failed := x.tryWithFaults(t, courses[i], rand.New(rand.NewPCG(seed, uint64(i)+10)))
				x.mu.Lock()
				x.counts.sequences++
				if failed {
					x.counts.failed++
					found[i] = co
				}
				x.mu.Unlock()
			}
		})
	}
	shown := began
	for i := range courses {
		x.mu.Lock()
		n, enough := x.counts, stop > 0 && len(found) >= stop
		x.mu.Unlock()
		if now := time.Now(); now.Sub(shown) > 5*time.Second {
			shown = now
			fmt.Fprintf(os.Stderr, "sim: %s: %d sequences, %d failed\n", t.Name(), n.sequences, n.failed)
		}
		if enough || *budgetFlag > 0 && time.Since(began) > *budgetFlag {
			break
		}
		next <- i
	}
	close(next)
	all.Wait()
	for _, i := range slices.Sorted(maps.Keys(found)) {
		failures = append(failures, found[i])
	}
	return failures
}

// tryWithFaults tries a course, then with faults. It returns the one that fails.
func (x *explorer) tryWithFaults(t *testing.T, co course, random *rand.Rand) (course, bool) {
	c, r, ok := x.try(t, co)
	if len(r.Failures) > 0 || !ok {
		return co, len(r.Failures) > 0
	}
	faults := c.points().Singles()
	for range faultsOfEach {
		if len(faults) == 0 {
			break
		}
		p := plan.Plan{faults[random.IntN(len(faults))]}
		x.ran()
		if r := c.run(t, p); len(r.Failures) > 0 {
			return course{co.states, p}, true
		}
	}
	return co, false
}

func (x *explorer) ran() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.counts.runs++
}

// maxSmaller bounds the runs that make a course smaller.
const maxSmaller = 300

// smaller returns a smaller course that fails, too, its checker, and what came of it.
func (x *explorer) smaller(t *testing.T, co course) (course, *checker, search.Result) {
	c, r, _ := x.try(t, co)
	tries := 0
	for again := true; again; {
		again = false
		for _, less := range co.smaller(len(x.Steps) + 1) {
			if tries++; tries > maxSmaller {
				break
			}
			if cc, rr, _ := x.try(t, less); len(rr.Failures) > 0 {
				co, c, r, again = less, cc, rr, true
				break
			}
		}
	}
	return co, c, r
}

// again runs the course of a line. It reports whether all of it can still happen.
func (x *explorer) again(t *testing.T, line string) (*checker, search.Result, bool, error) {
	co, err := parseCourse(line)
	if err != nil {
		return nil, search.Result{}, false, err
	}
	c, r, ok := x.try(t, co)
	return c, r, ok && r.Met(), nil
}

// replay runs one course, and prints what happens.
func (x *explorer) replay(t *testing.T, text string) {
	c, r, met, err := x.again(t, text)
	if err != nil {
		x.recorder.fatal("-sim.replay: %v", err)
	}
	c.replayed(t, r, met)
}
