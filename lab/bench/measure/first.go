package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/replay"
)

// others are the numbers of further objects; one object has to be reconciled first. Numbers that are
// not below the number of objects of the run are left out.
var others = []int{0, 1000, 100_000}

const (
	firstStage = "first"
	idleMemory = "idle program, memory"
	idleFile   = "idle program, memory of files"
	idleWait   = 5 * time.Second // before an idle program is looked at
)

func firstTime(n int) string {
	return fmt.Sprintf("first reconcile, %s other objects, time", thousands(float64(n)))
}

func firstCPU(n int) string {
	return fmt.Sprintf("first reconcile, %s other objects, CPU", thousands(float64(n)))
}

// starting measures a whole program, with one controller of Pods: the time and CPU from the start of
// its process until its first reconcile has read its object. It reads no discovery. With a single
// object it then collects once, idles, and its memory is looked at: all that is resident, and the part
// that is pages of files, of the program itself for the most part.
var starting = stage{
	name: firstStage, help: "from the start of a program to its first reconcile; its memory when it idles", own: true,
	cases: func() (all []caseOf) {
		for _, n := range others {
			all = append(all, caseOf{firstTime(n), "ms"}, caseOf{firstCPU(n), "ms"})
		}
		return append(all, caseOf{idleMemory, "MB"}, caseOf{idleFile, "MB"})
	}(),
	alone: func(ctx context.Context, s Setup, program, full string, name contender.Name, f *figures) error {
		for _, n := range others {
			if n > 0 && n >= s.corpus().Len() {
				continue
			}
			if err := s.firstReconcile(ctx, program, full, name, f, n); err != nil {
				return fmt.Errorf("%d other objects: %w", n, err)
			}
		}
		return nil
	},
}

// firstReconcile starts a program beside that many other Pods.
func (s Setup) firstReconcile(ctx context.Context, program, full string, name contender.Name, f *figures, others int) (err error) {
	s.View, s.Cases = "", []string{firstStage}
	s.Spec.Kind, s.Spec.Objects, s.Spec.Owners = "pods", others+1, 50
	if err := s.make(); err != nil {
		return err
	}
	tape, err := replay.Record(ctx, s.Tapes, s.corpus(), 0, s.form(name), func(done, of int) { s.Log("recording %d of %d", done, of) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tape.Close()) }()
	s.Log("%s: the first reconcile, %s other objects", full, thousands(float64(others)))
	n, err := open(ctx, program, s, name, tape, f, func(j *contend.Job) { j.Reconcile, j.Start = true, true })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	first, err := n.process.ask("first")
	if err != nil {
		return err
	}
	n.set(firstTime(others), float64(first.Usage.At-n.process.began.UnixNano())/1e6)
	n.set(firstCPU(others), 1000*first.Usage.CPU)
	if others > 0 {
		return nil
	}
	if _, err := n.process.ask("gc"); err != nil { // which an idle program does every two minutes
		return err
	}
	select {
	case <-time.After(min(idleWait, s.Settle)):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	idle, err := n.process.ask("resident")
	if err != nil {
		return err
	}
	n.set(idleMemory, float64(idle.Resident.All)/1e6)
	n.set(idleFile, float64(idle.Resident.File)/1e6)
	return nil
}
