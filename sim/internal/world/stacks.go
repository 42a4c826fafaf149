package world

import (
	"runtime"
	"strings"
)

// stack returns the stack of a panic.
func stack() string {
	buf := make([]byte, 64<<10)
	return string(buf[:runtime.Stack(buf, false)])
}

// waiting returns the stacks of the goroutines of the bubble that are not the world's.
func waiting() string {
	buf := make([]byte, 4<<20)
	var out []string
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		head, _, _ := strings.Cut(g, "\n")
		if strings.Contains(head, "synctest bubble") && !strings.Contains(g, "internal/world.Run(") && !strings.Contains(g, "testing.tRunner(") {
			out = append(out, g)
		}
	}
	return strings.Join(out, "\n\n")
}
