package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGuestbookIsCurrent: the generated files of the sample are those of its markers.
func TestGuestbookIsCurrent(t *testing.T) {
	t.Parallel()
	bin, err := plainProgram()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"generate", "manifests"} {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "flyball"), command, "--check")
		cmd.Dir = filepath.Join("..", "..", "examples", "guestbook")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s --check: %v: run it in examples/guestbook\n%s", command, err, out)
		}
	}
}
