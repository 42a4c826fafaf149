package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
)

// TestGuestbookIsCurrent: the generated files of the sample are those of its markers.
func TestGuestbookIsCurrent(t *testing.T) {
	tier.NotShort(t, "starts other processes")
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
