package main

import (
	"path/filepath"
	"testing"
)

// TestGuestbookIsCurrent: the generated files of the sample are those of its markers.
func TestGuestbookIsCurrent(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "examples", "guestbook"))
	for _, command := range []string{"generate", "manifests"} {
		if code := run([]string{command, "--check"}); code != 0 {
			t.Errorf("%s --check: exit status %d: run it in examples/guestbook", command, code)
		}
	}
}
