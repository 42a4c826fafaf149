package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// One process at a time keeps its state in a file. The lock leaves nothing behind.
func TestAStateFileHasOneServer(t *testing.T) {
	dir := t.TempDir()
	f := stateFile(filepath.Join(dir, "state.yaml"))
	for range 2 {
		release, err := f.hold()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.hold(); !errors.Is(err, errHeld) {
			t.Errorf("a second lock: %v", err)
		}
		if other, err := stateFile(filepath.Join(dir, "other.yaml")).hold(); err != nil {
			t.Error(err)
		} else {
			other()
		}
		release()
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := stateFile(filepath.Join(dir, "none", "state.yaml")).hold(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is missing: %v", err)
	}
}
