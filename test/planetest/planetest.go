// Package planetest provides a real Kubernetes control plane to tests. [Shared] returns one for the
// test binary, and [Namespace] a namespace for the test:
//
//	func TestCreate(t *testing.T) {
//		p := planetest.Shared(t)         // one for the test binary
//		ns := planetest.Namespace(t, p)  // one for this test
//		…
//	}
//
// The first call of Shared starts the control plane, in 3 to 4 seconds once it is built. The build,
// see [plane.Build], may exceed the timeout of "go test": the test then fails with a message that
// says what to do. A test that kills, pauses or restarts the control plane needs one of its own
// from [Private]. A failed test logs the control plane's log lines since the call of Shared or
// Private.
//
// With -short, or FLYBALL_REAL=0 in the environment, both skip the test, and say so.
//
// The shared control plane ends with the process. [Main] in a TestMain ends it in good order. A
// TestMain that checks for leaked goroutines wraps its M by [Wrap].
package planetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/test/plane"
)

// failureLines is the number of control plane log lines that a failed test shows.
const failureLines = 200

var shared struct {
	sync.Mutex
	tried bool
	plane *plane.Plane
	err   error
}

// Shared returns the control plane that all tests of this process share. The first call starts it.
// Tests must not kill, pause or close it.
func Shared(t testing.TB) *plane.Plane {
	t.Helper()
	livetest.NeedReal(t)
	shared.Lock()
	defer shared.Unlock()
	if !shared.tried {
		shared.tried = true
		// The context is not the test's: the control plane outlives the test.
		shared.plane, shared.err = start(context.Background(), t, plane.Options{Progress: os.Stderr})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	logOnFailure(t, shared.plane, shared.plane.Log().Lines())
	return shared.plane
}

// Private starts a control plane for this test alone. It is closed when the test and its subtests
// have ended.
func Private(t testing.TB, opts plane.Options) *plane.Plane {
	t.Helper()
	livetest.NeedReal(t)
	if opts.Progress == nil {
		opts.Progress = os.Stderr
	}
	p, err := start(t.Context(), t, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	logOnFailure(t, p, 0)
	return p
}

// errDeadline is the cause if the timeout of "go test" is too short for the build of the control
// plane. A later build does not compile finished packages again.
var errDeadline = errors.New(`the time of the test is over: build the control plane before, by "flyball controlplane --build-only", or give "go test" more time by -timeout`)

// start starts a control plane within the test's deadline. Without this bound "go test" would end
// the process at its timeout, without the reason.
func start(ctx context.Context, t testing.TB, o plane.Options) (*plane.Plane, error) {
	ctx, cancel := beforeDeadline(ctx, t)
	defer cancel()
	p, err := plane.Start(ctx, o)
	if err != nil && context.Cause(ctx) == errDeadline {
		err = fmt.Errorf("%w; %w", errDeadline, err)
	}
	return p, err
}

// beforeDeadline returns a context that ends shortly before the test's deadline.
func beforeDeadline(ctx context.Context, t testing.TB) (context.Context, context.CancelFunc) {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, bounded := d.Deadline(); bounded {
			reserve := min(20*time.Second, time.Until(deadline)/10)
			return context.WithDeadlineCause(ctx, deadline.Add(-reserve), errDeadline)
		}
	}
	return context.WithCancel(ctx)
}

// Main runs the tests, ends the shared control plane and exits.
func Main(m *testing.M) { os.Exit(Wrap(m).Run()) }

// Wrap returns a runner of tests, as [testing.M] is, that ends the shared control plane after m's tests. The goroutines of the
// control plane have ended when Run returns:
//
//	goleak.VerifyTestMain(planetest.Wrap(m))
func Wrap(m interface{ Run() int }) interface{ Run() int } { return wrapped{m} }

type wrapped struct{ m interface{ Run() int } }

func (w wrapped) Run() int {
	defer closeShared()
	return w.m.Run()
}

// closeShared ends the shared control plane. A later Shared starts another.
func closeShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.plane != nil {
		if err := shared.plane.Close(); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
		}
	}
	shared.tried, shared.plane, shared.err = false, nil, nil
}

// logOnFailure adds the control plane's log since the mark to the log of a failed test.
func logOnFailure(t testing.TB, p *plane.Plane, mark int) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		lines := p.Log().Tail(mark, failureLines)
		t.Logf("the control plane's last %d log lines since the test began:\n%s", len(lines), strings.Join(lines, "\n"))
	})
}
