// Package leaktest fails a test binary that leaves goroutines behind.
package leaktest

import (
	"os"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests and exits. Goroutines that they leave behind must end within five minutes. goleak gives them half a
// second, and on a busy machine those of a closed connection need more.
func Main(m interface{ Run() int }, options ...goleak.Option) {
	if code := m.Run(); code != 0 {
		os.Exit(code)
	}
	if err := find(5*time.Minute, options...); err != nil {
		println("goleak:", err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

// find waits until no other goroutine is left. Its error names those that remain after the bound.
func find(bound time.Duration, options ...goleak.Option) error {
	for end := time.Now().Add(bound); ; {
		if err := goleak.Find(options...); err == nil || time.Now().After(end) {
			return err
		}
	}
}
