package leader

import "time"

// clock counts monotonic time since it was made. It includes the time that the machine was
// suspended, if the system reports it. Otherwise, and in the virtual time of a test, it is the
// clock of package time.
type clock struct {
	start time.Time
	boot  time.Duration // at the start
}

func newClock() *clock {
	boot, _ := sinceBoot()
	return &clock{start: time.Now(), boot: boot}
}

// now returns the larger of the two clocks.
func (c *clock) now() time.Duration {
	mono := time.Since(c.start)
	if boot, ok := sinceBoot(); ok {
		return max(mono, boot-c.boot)
	}
	return mono
}
