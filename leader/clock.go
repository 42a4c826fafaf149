package leader

import "time"

// clock is the monotonic time since it was made, with the time that the machine was suspended if
// the system tells it. Where it does not, or in the virtual time of a test, it is that of package
// time.
type clock struct {
	start time.Time
	boot  time.Duration // at the start
}

func newClock() *clock {
	boot, _ := sinceBoot()
	return &clock{start: time.Now(), boot: boot}
}

// now reads both clocks and takes the one that has gone further.
func (c *clock) now() time.Duration {
	mono := time.Since(c.start)
	if boot, ok := sinceBoot(); ok {
		return max(mono, boot-c.boot)
	}
	return mono
}
