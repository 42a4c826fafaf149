//go:build !linux

package leader

import "time"

// sinceBoot reports false: the system has no clock that counts suspended time.
func sinceBoot() (time.Duration, bool) { return 0, false }
