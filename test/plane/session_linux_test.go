package plane_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/plane"
)

// A control plane has a session of its own. The kernel shares the processors out to sessions first: one in the session of
// busy tests gets a tenth of a processor, and its answers come too late.
func TestControlPlaneHasItsOwnSession(t *testing.T) {
	tier.NotShort(t, "starts a process")
	t.Setenv(role, "tells its session")
	_, err := plane.Start(t.Context(), plane.Options{Binary: os.Args[0]})
	exit, ok := errors.AsType[*plane.ExitError](err)
	if !ok {
		t.Fatalf("got error %v, want an ExitError", err)
	}
	session, err := strconv.Atoi(strings.Join(exit.Log, "\n"))
	if err != nil || session == sessionID() {
		t.Errorf("its session is %d, that of the test %d: %v", session, sessionID(), err)
	}
}

func sessionID() int {
	id, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	return int(id)
}
