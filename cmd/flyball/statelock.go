package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

var errHeld = errors.New("another server keeps its state there, and one of the two would be lost: end that server, or name another file")

// hold locks the file for this process, by a lock file beside it, until release is called. The error says if another
// process has the lock.
func (f stateFile) hold() (release func(), err error) {
	if f == "" {
		return func() {}, nil
	}
	name := filepath.Join(filepath.Dir(string(f)), "."+filepath.Base(string(f))+".lock")
	for {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("--state %s: %w", f, err)
		}
		locked, err := tryLock(file)
		if err != nil || !locked {
			if err == nil {
				err = errHeld
			}
			return nil, fmt.Errorf("--state %s: %w", f, errors.Join(err, file.Close()))
		}
		if isAt(file, name) {
			return func() {
				_ = os.Remove(name) // an old lock file does no harm
				_ = file.Close()
			}, nil
		}
		_ = file.Close() // the last holder has removed it meanwhile
	}
}

// isAt reports whether an open file is the one with a name.
func isAt(file *os.File, name string) bool {
	open, err := file.Stat()
	if err != nil {
		return false
	}
	at, err := os.Stat(name)
	return err == nil && os.SameFile(open, at)
}
