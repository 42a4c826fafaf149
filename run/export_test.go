package run

// ResumeHelpers ends the pause of helpers, which a slow machine may have caused.
func ResumeHelpers() { aheadPaused.Store(0) }
