package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

// stage is a part of a run. It yields the figures of some cases.
type stage struct {
	name, help string
	// own says that the stage needs its own process. Otherwise it runs in the first process, after
	// the objects are there and all earlier stages have run.
	own   bool
	cases []caseOf
	// skip reports contenders for which the stage makes no sense. Nil means none.
	skip func(Setup, contender.Name) bool
	// change changes the job of the stage's own process. Nil means no change.
	change func(*contend.Job)
	run    func(ctx context.Context, n *session) error
	// alone replaces run for a stage with several processes, or objects of its own.
	alone func(ctx context.Context, s Setup, program, full string, name contender.Name, f *figures) error
}

// caseOf is the name and unit of a case.
type caseOf struct{ name, unit string }

// stages are in order.
var stages = []stage{holding, updates, pacing, reading, contending, relisting, pathing, churning, blocking, deleting, queueing, starting}

// Stages returns the names of the groups of cases, in order.
func Stages() []string {
	var all []string
	for _, s := range stages {
		all = append(all, s.name)
	}
	return all
}

// Help returns a line about each stage.
func Help() []string {
	var all []string
	for _, s := range stages {
		all = append(all, fmt.Sprintf("%-8s %s", s.name, s.help))
	}
	return all
}

// wanted reports whether a stage has to run.
func (s Setup) wanted(name string) bool { return s.Cases == nil || slices.Contains(s.Cases, name) }

// Run measures the contenders one after another, each with the program of its library, and does so
// as often as the setup says: a machine that is slow for a while is slow for all. It returns when no
// process of them is left.
func Run(ctx context.Context, programs *Programs, s Setup) (*Results, error) {
	s, err := s.Check()
	if err != nil {
		return nil, err
	}
	r := newResults(s)
	var busy load
	all := map[string][]*figures{}
	for run := range s.Runs {
		s.Log("run %d of %d", run+1, s.Runs)
		for _, full := range s.Contenders {
			name, err := contender.Parse(full)
			if err != nil {
				return nil, err
			}
			busy.sample()
			f, bytes, err := s.measure(ctx, programs.of(name), full, name)
			if err != nil {
				return nil, fmt.Errorf("%s, run %d: %w", full, run+1, err)
			}
			all[full] = append(all[full], f)
			if name.Plain() {
				r.WireBytes = bytes
			}
		}
	}
	for full, runs := range all {
		r.add(full, runs)
	}
	if s.wanted(holding.name) {
		if err := r.addEntropy(ctx, s); err != nil {
			return nil, err
		}
	}
	r.Load = busy.String()
	r.judge(s)
	return r, nil
}

// measure runs one contender through all stages.
func (s Setup) measure(ctx context.Context, program, full string, name contender.Name) (f *figures, wire int, err error) {
	tape, err := replay.Record(ctx, s.Tapes, s.corpus(), s.changes(), s.form(name), func(done, of int) {
		s.Log("recording %d of %d", done, of)
	})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, tape.Close()) }()
	f = &figures{values: map[string]float64{}, overIdle: map[string]float64{}}
	if name.Library == contender.Transport {
		return f, tape.Bytes(), s.floor(ctx, program, name, tape, f)
	}
	if err := s.together(ctx, program, full, name, tape, f); err != nil {
		return nil, 0, err
	}
	for _, st := range stages {
		if st.own && name.Plain() && s.wanted(st.name) && (st.skip == nil || !st.skip(s, name)) {
			if err := s.alone(ctx, st, program, full, name, tape, f); err != nil {
				return nil, 0, fmt.Errorf("%s: %w", st.name, err)
			}
		}
	}
	return f, tape.Bytes(), nil
}

// together runs the stages that share the first process. The first of them always runs, since the
// others need its result.
func (s Setup) together(ctx context.Context, program, full string, name contender.Name, tape *replay.Tape, f *figures) (err error) {
	var todo []stage
	for i, st := range stages {
		if !st.own && (i == 0 || s.wanted(st.name)) && (st.skip == nil || !st.skip(s, name)) {
			todo = append(todo, st)
		}
	}
	if len(todo) == 1 && !s.wanted(todo[0].name) {
		return nil
	}
	n, err := open(ctx, program, s, name, tape, f, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	for _, st := range todo {
		s.Log("%s: %s", full, st.help)
		if err := st.run(ctx, n); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return n.beginningToEnd()
}

// alone runs a stage in its own process.
func (s Setup) alone(ctx context.Context, st stage, program, full string, name contender.Name, tape *replay.Tape, f *figures) (err error) {
	if st.alone != nil {
		return st.alone(ctx, s, program, full, name, f)
	}
	s.Log("%s: %s", full, st.help)
	n, err := open(ctx, program, s, name, tape, f, st.change)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	return st.run(ctx, n)
}
