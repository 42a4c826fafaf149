// Package tier says which tests run in which tier of proof; CONTRIBUTING.md describes them. "go test -short" has what needs
// no server and no other process, "go test" what needs no luck, and the audit, "make verify", all.
package tier

import (
	"os"
	"testing"
)

// AuditEnv is the environment variable that "make verify" sets. With it, tests that are for the audit run, too.
const AuditEnv = "FLYBALL_AUDIT"

// InAudit reports whether tests that are for the audit run.
func InAudit() bool { return os.Getenv(AuditEnv) != "" }

// Audit skips the test outside of the audit. It is for tests that measure time or memory, run the go command, or start
// programs and wait for them by the real clock; because says which.
func Audit(t testing.TB, because string) {
	t.Helper()
	if !InAudit() {
		t.Skipf("for the audit, which sets %s=1: it %s", AuditEnv, because)
	}
}

// NotShort skips the test with -short. It is for tests that start a server or another process; because says which.
func NotShort(t testing.TB, because string) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: it " + because)
	}
}
