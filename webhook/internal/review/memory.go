package review

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// share returns the default size of a budget for a memory limit of the process. A limit of zero means none.
func share(limit int64) int64 {
	const least, most = 8 << 20, 256 << 20
	if limit <= 0 {
		return most
	}
	return min(max(limit/4, least), most)
}

// memoryLimit returns the lower of GOMEMLIMIT and the cgroup's limit, in bytes. Zero means no limit.
func memoryLimit() int64 {
	limit := containerLimit()
	if soft := debug.SetMemoryLimit(-1); soft < math.MaxInt64 && (limit == 0 || soft < limit) {
		limit = soft
	}
	return limit
}

// containerLimit is that of the cgroup when the first budget is made.
var containerLimit = sync.OnceValue(func() int64 { return cgroupLimit(os.DirFS("/")) })

// cgroupLimit returns the lowest memory limit of the cgroup and its ancestors, in version 2 or 1. In a container the
// host's paths may be missing; the root is then the container's own.
func cgroupLimit(root fs.FS) (limit int64) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(own), "\n") {
		_, rest, _ := strings.Cut(line, ":")
		controllers, at, found := strings.Cut(rest, ":")
		dir, file := "sys/fs/cgroup", "memory.max"
		switch {
		case !found:
			continue
		case controllers != "":
			if !slices.Contains(strings.Split(controllers, ","), "memory") {
				continue
			}
			dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for at = path.Clean("/" + at); ; at = path.Dir(at) {
			if n := readLimit(root, path.Join(dir, at, file)); n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if at == "/" {
				break
			}
		}
	}
	return limit
}

// readLimit returns the number in a file, or zero if there is no limit. Version 2 writes "max" for
// no limit, version 1 a number larger than any machine's memory.
func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n <= 0 || n >= 1<<60 {
		return 0
	}
	return n
}
