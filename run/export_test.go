package run

// HelpersAgain ends the pause of helpers, which a slow machine may have caused.
func HelpersAgain() { aheadPaused.Store(0) }
