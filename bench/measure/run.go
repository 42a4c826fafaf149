package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flyball-io/flyball/bench/contend"
	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/replay"
)

// stage is a piece of work from which the figures of some cases come.
type stage struct {
	name, help string
	// own says that the work needs a process of its own: otherwise it is done in the first one, when
	// the objects are there and all stages before it are done.
	own   bool
	cases []caseOf
	// skip says for which contenders it does not make sense. Nil: for none.
	skip func(Setup, contender.Name) bool
	// change of the job of a process of its own. Nil: none.
	change func(*contend.Job)
	run    func(ctx context.Context, n *session) error
}

// caseOf is the name and unit of a case.
type caseOf struct{ name, unit string }

// stages in their order.
var stages = []stage{holding, updates, pacing, reading, contending, relisting, pathing, churning, blocking, deleting, queueing}

// Stages are the names of the groups of cases, in their order.
func Stages() []string {
	var all []string
	for _, s := range stages {
		all = append(all, s.name)
	}
	return all
}

// Help is what each of the stages measures, a line each.
func Help() []string {
	var all []string
	for _, s := range stages {
		all = append(all, fmt.Sprintf("%-8s %s", s.name, s.help))
	}
	return all
}

// wanted reports whether a stage is to be run.
func (s Setup) wanted(name string) bool { return s.Cases == nil || slices.Contains(s.Cases, name) }

// Run measures the contenders, one after another, each with the program of its library. It returns
// when no process of theirs is left.
func Run(ctx context.Context, programs *Programs, s Setup) (*Results, error) {
	s, err := s.Check()
	if err != nil {
		return nil, err
	}
	r := newResults(s)
	for _, full := range s.Contenders {
		name, err := contender.Parse(full)
		if err != nil {
			return nil, err
		}
		f, bytes, err := s.measure(ctx, programs.of(name), full, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", full, err)
		}
		r.add(full, f)
		if name.Plain() {
			r.WireBytes = bytes
		}
	}
	r.judge(s)
	return r, nil
}

// measure takes one contender through everything.
func (s Setup) measure(ctx context.Context, program, full string, name contender.Name) (f *figures, wire int, err error) {
	_, form := s.of(name)
	tape, err := replay.Record(ctx, s.Tapes, s.corpus(), replay.Plan{Events: s.changes()}, form, func(done, of int) {
		s.Log("recording %d of %d", done, of)
	})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, tape.Close()) }()
	f = &figures{values: map[string]float64{}, overIdle: map[string]float64{}}
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

// together runs the stages that share the first process. The first of them is always run: the
// others need what it has done.
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

// alone runs a stage in a process of its own.
func (s Setup) alone(ctx context.Context, st stage, program, full string, name contender.Name, tape *replay.Tape, f *figures) (err error) {
	s.Log("%s: %s", full, st.help)
	n, err := open(ctx, program, s, name, tape, f, st.change)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	return st.run(ctx, n)
}
