package main

import (
	"path/filepath"
	"testing"
)

// TestGuestbookIsCurrent: what the sample has of generated files is what its markers say.
func TestGuestbookIsCurrent(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", "examples", "guestbook"))
	for _, command := range []string{"generate", "manifests"} {
		if code := run([]string{command, "--check"}); code != 0 {
			t.Errorf("%s --check: exit status %d: run it in examples/guestbook", command, code)
		}
	}
}
