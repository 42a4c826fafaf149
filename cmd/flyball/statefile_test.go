package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A disk that is full, or any other error, leaves the file as it was, and nothing beside it.
func TestStateFileIsWholeOrNotTouched(t *testing.T) {
	dir := t.TempDir()
	f := stateFile(filepath.Join(dir, "state.yaml"))
	full := func(w io.Writer) error {
		_, err := fmt.Fprint(w, "half of it")
		return errors.Join(err, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	}
	if err := f.save(full); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no such file yet") {
		t.Errorf("%v", err)
	}
	if err := f.save(func(w io.Writer) error { _, err := io.WriteString(w, "all of it"); return err }); err != nil {
		t.Fatal(err)
	}
	if err := f.save(full); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "the file is as it was before") {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(string(f))
	files, listed := os.ReadDir(dir)
	if err := errors.Join(err, listed); err != nil || string(text) != "all of it" || len(files) != 1 {
		t.Errorf("%q, %d files, %v", text, len(files), err)
	}
}

func TestStateFileCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, c := range []struct {
		name   string
		exists bool
		want   string
	}{
		{"", false, ""},
		{filepath.Join(dir, "new"), false, ""},
		{write("old", "x"), true, ""},
		{write("empty", ""), true, ""},
		{dir, false, "is a directory"},
		{filepath.Join(dir, "none", "new"), false, "no such file or directory"},
		{filepath.Join(dir, "old", "new"), false, "not a directory"},
	} {
		exists, err := stateFile(c.name).check()
		if exists != c.exists || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v, want %v, %q", c.name, exists, err, c.exists, c.want)
		}
	}
}
