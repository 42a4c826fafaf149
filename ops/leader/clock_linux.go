package leader

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns CLOCK_BOOTTIME, which counts while the machine is suspended. The monotonic
// clock does not.
func sinceBoot() (time.Duration, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}
