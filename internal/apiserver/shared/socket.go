package shared

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/test/plane"
)

// newClient returns a client of a rules program. Processes with the same file and the same cache folder share it.
func newClient(binary string) *rules.Client {
	cache, err := os.UserCacheDir()
	if err != nil {
		return rules.New(binary, rules.Options{})
	}
	return rules.New(binary, rules.Options{Socket: filepath.Join(cache, "flyball", "run", socketName(binary))})
}

// socketName names a version of a program. The name of a program that was built here says what it was built from. One
// that was built elsewhere may have been replaced under its name.
func socketName(binary string) string {
	h := sha256.New()
	fmt.Fprintln(h, binary)
	if info, err := os.Stat(binary); err == nil && os.Getenv(plane.RulesEnv) != "" {
		fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("rules-%x", h.Sum(nil)[:8])
}
