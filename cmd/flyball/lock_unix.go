//go:build linux || darwin

package main

import (
	"errors"
	"os"
	"syscall"
)

// tryLock tries to lock an open file, and reports whether it succeeded. The lock ends with the file or the process.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
