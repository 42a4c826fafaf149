package faults_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flyball-io/flyball/plane"
	"github.com/flyball-io/flyball/plane/planetest"
)

// The tests are named after the rows of the table of faults. Each runs a whole program, a manager
// with a controller, against a server that something befalls, and ends with rig.nothingLost. Rows
// that need less than that have their test nearer to the code:
//
//	17  lease edited by hand      TestEditedLeaseStopsTheLeader, package flyball
//	34  1,000 starts and stops    TestThousandRunsLeakNothing, package flyball
//
// FLYBALL_LONG=1 gives the times and sizes of the table; without it they are shortened to what
// shows the same in seconds.
var long = os.Getenv("FLYBALL_LONG") != ""

// pick is what the table says in a long run, else the short form of it.
func pick[T any](full, short T) T {
	if long {
		return full
	}
	return short
}

// hung is how long a test waits before it takes a program for one that hangs.
const hung = 10 * time.Minute

// roleEnv makes the test binary a program of another kind: a controller that is killed, or one
// that is measured.
const roleEnv = "FLYBALL_TEST_ROLE"

var roles = map[string]func() int{}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		os.Exit(roles[role]())
	}
	goleak.VerifyTestMain(closing{planetest.Wrap(m)})
}

// closing ends the control plane that may be hurt, after the tests.
type closing struct{ planetest.M }

func (c closing) Run() int {
	defer hurt.close()
	return c.M.Run()
}

// hurt is a second control plane, for tests that kill, stop or restore it: one after the other,
// so none of them may run in parallel. Each leaves it running.
var hurt victim

type victim struct {
	once  sync.Once
	plane *plane.Plane
	err   error
}

func hurtable(t *testing.T) *plane.Plane {
	t.Helper()
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
