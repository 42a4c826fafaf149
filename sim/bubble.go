package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/jitter"
	"github.com/flyball-io/flyball/sim/internal/world"
)

// stuckAfter is how long a run may do nothing, in real time, while its program computes.
var stuckAfter = time.Minute

// leftAfter is how long goroutines may outlive the program, in real time.
const leftAfter = 30 * time.Second

// bubble runs a plan in a bubble of its own. A run that hangs is left behind, with an error that names what it waits for.
func (c *checker) bubble(t *testing.T, o world.Config) *world.Outcome {
	var acts atomic.Int64
	var over atomic.Bool
	o.Acts = &acts
	defer jitter.Simulate()()
	defer watched(t, c.text(o.Plan))()
	done := make(chan *world.Outcome, 1)
	go func() {
		var out *world.Outcome
		defer func() {
			if r := recover(); r != nil {
				out = c.broken(o, out, fmt.Errorf("goroutines of the program outlive it: each must end when its context ends: %v\n%s", r, bubbled("")))
			}
			done <- out
		}()
		synctest.Test(t, func(*testing.T) {
			out = world.Run(o)
			over.Store(true)
		})
	}()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	last, since := int64(-1), time.Now()
	for {
		select {
		case out := <-done:
			return out
		case <-look.C:
		}
		if n := acts.Load(); n != last {
			last, since = n, time.Now()
		}
		switch idle := time.Since(since); {
		case over.Load() && idle > leftAfter:
			return c.broken(o, nil, fmt.Errorf("goroutines of the program outlive it: each must end when its context ends:\n%s", bubbled("")))
		case idle > stuckAfter:
			return c.broken(o, nil, fmt.Errorf("the program hangs: in virtual time a goroutine may wait for channels, timers and requests, and not for a socket, a file or a lock that another one holds meanwhile:\n%s", bubbled("durable")))
		}
	}
}

// broken returns the outcome of a run that ended in no good order.
func (c *checker) broken(o world.Config, out *world.Outcome, err error) *world.Outcome {
	if out == nil {
		out = &world.Outcome{Met: make([]bool, len(o.Plan))}
	}
	if out.Err == nil {
		out.Err = err
	}
	return out
}

// bubbled returns the stacks of goroutines in bubbles whose state does not have a text, those of the program first. ""
// means all.
func bubbled(but string) string {
	buf := make([]byte, 8<<20)
	var out []string
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		head, _, _ := strings.Cut(g, "\n")
		if strings.Contains(head, "synctest bubble") && (but == "" || !strings.Contains(head, but)) && !strings.Contains(g, "sim/internal/world.Run(") {
			out = append(out, g)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return strings.Join(out[:min(5, len(out))], "\n\n")
}
