package measure

import (
	"fmt"
	"os"
	"strings"
)

// load is how busy the machine was during a run, with all its programs. A figure that is not known is
// zero: it is known on Linux only.
type load struct {
	least, most float64 // of the average number of runnable threads over a minute, when a contender began
	samples     int
	first       times // of all cores when the run began
}

// times are those of all cores since the machine began, in ticks.
type times struct{ all, stolen uint64 }

// sample looks at the machine. It is called before each contender.
func (l *load) sample() {
	if l.samples == 0 {
		l.first = readTimes()
	}
	var now float64
	text, _ := os.ReadFile("/proc/loadavg")
	if _, err := fmt.Sscan(string(text), &now); err != nil {
		return
	}
	if l.samples == 0 {
		l.least = now
	}
	l.least, l.most = min(l.least, now), max(l.most, now)
	l.samples++
}

// String returns a line for people, or nothing if nothing is known.
func (l *load) String() string {
	if l.samples == 0 {
		return ""
	}
	text := fmt.Sprintf("load of the machine when a contender began: %.1f–%.1f", l.least, l.most)
	if now := readTimes(); now.all > l.first.all {
		text += fmt.Sprintf("; %.1f %% of its time was stolen", 100*float64(now.stolen-l.first.stolen)/float64(now.all-l.first.all))
	}
	return text
}

// readTimes reads the first line of /proc/stat. Its eighth figure is the time that the host gave to
// others (man 5 proc_stat).
func readTimes() (t times) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		var n uint64
		if _, err := fmt.Sscan(field, &n); err != nil || i > 8 {
			continue
		}
		t.all += n
		if i == 8 {
			t.stolen = n
		}
	}
	return t
}
