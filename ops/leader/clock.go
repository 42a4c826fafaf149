package leader

import "time"

// clock starts with the wall clock and advances with monotonic time. That includes the time that the
// machine was suspended, if the system reports it. Otherwise, and in the virtual time of a test, it
// is the clock of package time.
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
	if boot, ok := sinceBoot(); ok {
		mono = max(mono, boot-c.boot)
	}
	return c.start.Add(mono)
}
