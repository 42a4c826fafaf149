package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errHeld says that another process has a lock.
var errHeld = errors.New("another process holds it")

// hold locks the file for this process until release is called. The error says if another process has the lock.
func (f stateFile) hold() (release func(), err error) {
	if f == "" {
		return func() {}, nil
	}
	release, err = lockBeside(string(f))
	if errors.Is(err, errHeld) {
		err = fmt.Errorf("another server keeps its state there, and one of the two would be lost: end that server, or name another file: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("--state %s: %w", f, err)
	}
	return release, nil
}

// lockBeside locks a file for this process, by a lock file beside it, until release is called. The error is [errHeld]
// if another process has the lock.
func lockBeside(file string) (release func(), err error) {
	file = behind(file)
	name := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".lock")
	for {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		locked, err := tryLock(file)
		if err != nil || !locked {
			if err == nil {
				err = errHeld
			}
			return nil, errors.Join(err, file.Close())
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
