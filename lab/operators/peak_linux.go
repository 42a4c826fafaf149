package main

import (
	"os"
	"syscall"
)

// peak returns the most resident memory that a process had, in bytes.
func peak(p *os.ProcessState) int64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return int64(u.Maxrss) << 10
	}
	return 0
}
