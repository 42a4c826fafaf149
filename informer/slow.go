package informer

import (
	"fmt"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/run"
)

// OverdueError says that a function of the program has run for a second or longer. The call goes on, and may
// still succeed. [Options].Transform, [Informer.AddIndex] and [Informer.Subscribe] say what waits for it.
type OverdueError struct {
	// Part is "index", "transform" or "source". Name is the name of the index or the source.
	Part, Name string
	// Key is the key of the object.
	Key object.Key
	// For is how long the call has run.
	For time.Duration
}

func (e *OverdueError) Error() string {
	part := e.Part
	if e.Name != "" {
		part = fmt.Sprintf("%s %q", e.Part, e.Name)
	}
	return fmt.Sprintf("%s: %s has not returned for %v", e.Key, part, e.For.Round(time.Millisecond))
}

const (
	partIndex     = "index"
	partTransform = "transform"
	partSource    = "source"
)

// slowCall is a call of a function of the program.
type slowCall struct {
	part, name string
	key        object.Key
}

// hook calls a hook of the program. It logs a call that has run for a second.
func (in *Informer) hook(name string, call func()) {
	began := time.Now()
	late := time.AfterFunc(overdue.After, func() { in.log.Warn("hook takes long", "hook", name, "since", began) })
	defer late.Stop()
	if err := run.Safely(name, func() error { call(); return nil }); err != nil {
		in.log.Error("hook panicked", "err", err)
	}
}

// overdue reports a call that has run for a second and still runs. OnProblem gets each such call. The log gets
// the first five, then one a minute.
func (in *Informer) overdue(c slowCall, began time.Time) {
	err := &OverdueError{Part: c.part, Name: c.name, Key: c.key, For: time.Since(began)}
	p := Problem{Kind: in.o.Kind.GVK, Key: c.key, Err: err}
	if c.part == partSource {
		p.Handler = c.name
		in.readAhead.Store(true)
	}
	in.problem(p)
	in.slow.Next(in.log).Warn("function takes long", "part", c.part, "name", c.name, "object", c.key.String(), "since", began)
}
