//go:build !linux

package leader

import "time"

// sinceBoot: there is no other clock.
func sinceBoot() (time.Duration, bool) { return 0, false }
