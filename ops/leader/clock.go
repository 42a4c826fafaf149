package leader

import (
	"time"

	"github.com/flyball-io/flyball/internal/jitter"
)

// clock starts with the wall clock and advances with monotonic time. If the system reports the time that the
// machine was suspended, that counts. In a simulation it is the clock of package time.
type clock struct {
	start time.Time
	boot  time.Duration // at the start
}

func newClock() *clock {
	boot, _ := sinceBoot()
	return &clock{start: time.Now(), boot: boot}
}

// now returns the later of the two clocks.
func (c *clock) now() time.Time {
	mono := time.Since(c.start)
	if boot, ok := sinceBoot(); ok && !jitter.Simulated() {
		mono = max(mono, boot-c.boot)
	}
	return c.start.Add(mono)
}
