package review

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// share is the default of a budget, by the memory that the process may use; zero: there is no limit.
func share(limit int64) int64 {
	const least, most = 8 << 20, 256 << 20
	if limit <= 0 {
		return most
	}
	return min(max(limit/4, least), most)
}

// memoryLimit is how much memory the process may use, by GOMEMLIMIT and its cgroup; zero: nobody says.
func memoryLimit() int64 {
	limit := cgroupLimit(os.DirFS("/"))
	if soft := debug.SetMemoryLimit(-1); soft < math.MaxInt64 && (limit == 0 || soft < limit) {
		limit = soft
	}
	return limit
}

// cgroupLimit is the least of the memory limits of the cgroup and those around it, of version 2 or 1.
// In a container the paths of the host may not be there: the root is that of the container then.
func cgroupLimit(root fs.FS) (limit int64) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	lines := bufio.NewScanner(bytes.NewReader(own))
	for lines.Scan() {
		_, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, at, found := strings.Cut(rest, ":")
		dir, file := "sys/fs/cgroup", "memory.max"
		switch {
		case !found:
			continue
		case controllers != "":
			if !contains(controllers, "memory") {
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

func contains(list, name string) bool {
	for s := range strings.SplitSeq(list, ",") {
		if s == name {
			return true
		}
	}
	return false
}

// readLimit is the number in a file; zero where there is none: "max", or version 1's word for it, a
// number that no machine has.
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
