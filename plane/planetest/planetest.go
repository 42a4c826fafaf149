// Package planetest gives tests a real Kubernetes control plane.
//
//	func TestCreate(t *testing.T) {
//		p := planetest.Shared(t)         // one for the test binary
//		ns := planetest.Namespace(t, p)  // one for this test
//		…
//	}
//
// [Shared] starts the control plane of the test binary when the first test
// asks for it, in 3 to 4 seconds once it is built; see [plane.Build] for the
// build, which may take longer than "go test" gives a test: then the test fails
// and says what to do. A test that kills, pauses or restarts takes one of its own from
// [Private]. When a test fails, what the control plane logged since the test
// asked for it is in the test's log.
//
// The shared control plane ends with the process, at the latest; a TestMain
// that calls [Main] ends it in good order, and one that checks for leaked
// goroutines wraps its M by [Wrap].
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

	"github.com/flyball-io/flyball/plane"
)

// failureLines is how much of the control plane's log a failed test shows.
const failureLines = 200

var shared struct {
	sync.Mutex
	tried bool
	plane *plane.Plane
	err   error
}

// Shared returns the control plane that all tests of this process share, and
// starts it if it is the first to ask. It must not be killed, paused or
// closed.
func Shared(t testing.TB) *plane.Plane {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if !shared.tried {
		shared.tried = true
		// Not the test's context: the control plane outlives the test.
		shared.plane, shared.err = start(context.Background(), t, plane.Options{Progress: os.Stderr})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	logOnFailure(t, shared.plane, shared.plane.Log().Lines())
	return shared.plane
}

// Private starts a control plane for this test alone and closes it when the
// test and its subtests have ended.
func Private(t testing.TB, opts plane.Options) *plane.Plane {
	t.Helper()
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

// errNoTime says what to do where the time of "go test" does not last for the build of the control
// plane. What is compiled by then is not compiled again.
var errNoTime = errors.New(`the time of the test is over: build the control plane before, by "flyball controlplane --build-only", or give "go test" more time by -timeout`)

// start starts a control plane in the time that the test has. "go test" ends the process when that is
// over, which tells nobody why.
func start(ctx context.Context, t testing.TB, o plane.Options) (*plane.Plane, error) {
	ctx, cancel := inTime(ctx, t)
	defer cancel()
	p, err := plane.Start(ctx, o)
	if err != nil && context.Cause(ctx) == errNoTime {
		err = fmt.Errorf("%w; %w", errNoTime, err)
	}
	return p, err
}

// inTime is a context that ends shortly before the time of the test is over.
func inTime(ctx context.Context, t testing.TB) (context.Context, context.CancelFunc) {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, bounded := d.Deadline(); bounded {
			reserve := min(20*time.Second, time.Until(deadline)/10)
			return context.WithDeadlineCause(ctx, deadline.Add(-reserve), errNoTime)
		}
	}
	return context.WithCancel(ctx)
}

// Main runs the tests, ends the shared control plane and exits.
func Main(m *testing.M) { os.Exit(Wrap(m).Run()) }

// M runs tests, as [testing.M] does.
type M interface{ Run() int }

// Wrap returns an M that ends the shared control plane after m's tests, so
// that its goroutines are gone when Run returns:
//
//	goleak.VerifyTestMain(planetest.Wrap(m))
func Wrap(m M) M { return wrapped{m} }

type wrapped struct{ M }

func (w wrapped) Run() int {
	defer closeShared()
	return w.M.Run()
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

// logOnFailure adds the control plane's log since the mark to that of a
// failed test.
func logOnFailure(t testing.TB, p *plane.Plane, mark int) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		lines := p.Log().Tail(mark, failureLines)
		t.Logf("the control plane's last %d log lines since the test began:\n%s", len(lines), strings.Join(lines, "\n"))
	})
}
