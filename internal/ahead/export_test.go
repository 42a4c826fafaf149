package ahead

// ResumeHelpers ends the pause of helpers, which a slow machine may have caused.
func ResumeHelpers() { pausedUntil.Store(0) }
