package faults_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/leaktest"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/plane"
	"github.com/flyball-io/flyball/test/servertest"
)

// TestFaultNN tests fault NN of docs/faults.md. Each test runs a whole program, a manager with a
// controller, against a server with a fault, and ends with rig.nothingLost. Simpler faults have
// their test nearer to the code; docs/faults.md names it.
//
// Most run in a bubble, where times are full and cost nothing; see world. FLYBALL_LONG=1 sets the full sizes, and the full
// times of those that run by the real clock. Without it they are shortened so that each test takes seconds.
var long = os.Getenv("FLYBALL_LONG") != ""

// pick returns full in a long run, otherwise short.
func pick[T any](full, short T) T {
	if long {
		return full
	}
	return short
}

// hung is the time after which a test regards a program as hung.
const hung = 10 * time.Minute

// roleEnv gives the test binary another role: a controller that is killed, or one that is measured.
const roleEnv = "FLYBALL_TEST_ROLE"

var roles = map[string]func() int{}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(roles[role]())
	}
	allowParallel()
	leaktest.Main(closing{apiserver.Wrap(servertest.Wrap(m))})
}

// closing closes hurt after the tests.
type closing struct{ goleak.TestingM }

func (c closing) Run() int {
	defer hurt.close()
	return c.TestingM.Run()
}

// hurt is a second control plane, for tests that kill, stop or restore it. Each has it for itself until
// the test ends, and leaves it running.
var hurt victim

type victim struct {
	sync.Mutex // held by the test that has it
	once       sync.Once
	plane      *plane.Plane
	err        error
}

func hurtable(t *testing.T) *plane.Plane {
	t.Helper()
	livetest.NeedReal(t)
	hurt.Lock()
	t.Cleanup(hurt.Unlock)
	hurt.once.Do(func() {
		hurt.plane, hurt.err = plane.Start(context.Background(), plane.Options{Progress: os.Stderr})
	})
	if hurt.err != nil {
		t.Fatal(hurt.err)
	}
	mark := hurt.plane.Log().Lines()
	t.Cleanup(func() {
		if t.Failed() {
			for _, line := range hurt.plane.Log().Tail(mark, 50) {
				t.Log(line)
			}
		}
	})
	return hurt.plane
}

func (v *victim) close() {
	if v.plane == nil {
		return
	}
	if err := v.plane.Close(); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
	}
}
