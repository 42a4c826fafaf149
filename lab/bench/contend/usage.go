package contend

import (
	"fmt"
	"os"
	"runtime/metrics"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the consumption of a process since its start.
type Usage struct {
	CPU    float64 // seconds
	GCCPU  float64 // seconds, the part in the garbage collector
	Allocs uint64
	At     int64 // nanoseconds of the wall clock
	RSS    int64 // bytes, now
	Peak   int64 // largest RSS in bytes since the start or the last resetPeak
}

// used returns the consumption of this process so far.
func used() Usage {
	u := Usage{At: time.Now().UnixNano()}
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err == nil {
		u.CPU = seconds(ru.Utime) + seconds(ru.Stime)
	}
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/heap/allocs:objects"}}
	metrics.Read(samples)
	u.GCCPU, u.Allocs = samples[0].Value.Float64(), samples[1].Value.Uint64()
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kb); err == nil {
			u.Peak = kb << 10
		}
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
			u.RSS = kb << 10
		}
	}
	return u
}

func seconds(t unix.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

// resetPeak restarts the measurement of the largest RSS.
func resetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
