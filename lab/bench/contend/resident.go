package contend

import (
	"fmt"
	"os"
	"strings"
)

// Resident is the memory of a process, as /proc/self/smaps_rollup counts it (man 5 proc_pid_smaps).
type Resident struct {
	All int64 // bytes
	// File is the part that is pages of files: of the program, for the most part. The system can drop
	// these pages, and programs from the same file share them.
	File int64
}

// resident fills in the memory of this process.
func (h *held) resident(_ string, r *Report) error {
	text, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return err
	}
	anonymous := int64(0)
	for line := range strings.Lines(string(text)) {
		var kb int64
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &kb); err == nil {
			r.Resident.All = kb << 10
		}
		if _, err := fmt.Sscanf(line, "Anonymous: %d kB", &kb); err == nil {
			anonymous = kb << 10
		}
	}
	r.Resident.File = r.Resident.All - anonymous
	return nil
}
