package probe

// Reason is for tests.
var Reason = reason
