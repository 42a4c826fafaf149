package webhook

// The tests are not in the package: package webhooktest, which they use, imports it.
var Diff, Encode = diff, encode
