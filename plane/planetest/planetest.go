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
// build. A test that kills, pauses or restarts takes one of its own from
// [Private]. When a test fails, what the control plane logged since the test
// asked for it is in the test's log.
//
// The shared control plane ends with the process, at the latest; a TestMain
// that calls [Main] ends it in good order, and one that checks for leaked
// goroutines wraps its M by [Wrap].
package planetest

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

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
		shared.plane, shared.err = plane.Start(context.Background(), plane.Options{Progress: os.Stderr})
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
	p, err := plane.Start(t.Context(), opts)
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
