package shared

import (
	"errors"
	"sync"
	"time"
)

// outside runs functions on goroutines outside of all bubbles of testing/synctest. All tests share the rules program,
// so the goroutines that read its answers cannot be in the bubble of one test. work is nil while nobody serves.
var outside struct {
	sync.Mutex
	work    chan func()
	serving int // calls of ServeOutside that are not stopped
	running sync.WaitGroup
}

var errBubble = errors.New("apiserver: a server inside a bubble of testing/synctest needs goroutines outside of it: let TestMain run the tests by apiserver.Wrap(m)")

// InBubble reports whether the caller is in a bubble. Its clock begins in the year 2000.
func InBubble() bool { return time.Now().Year() < 2020 }

// Outside runs a function outside of all bubbles and waits for it. The caller waits by a mutex: virtual time stands
// still meanwhile, which it would not at a channel.
func Outside(f func()) error {
	outside.Lock()
	work := outside.work
	outside.Unlock()
	if work == nil {
		return errBubble
	}
	var done sync.Mutex
	done.Lock()
	work <- func() { defer done.Unlock(); f() }
	done.Lock()
	return nil
}

// ServeOutside starts the goroutine for [Outside], unless it runs. The last stop ends it, and waits for the functions that
// run.
func ServeOutside() (stop func()) {
	outside.Lock()
	defer outside.Unlock()
	if outside.serving++; outside.serving == 1 {
		work := make(chan func())
		outside.work = work
		outside.running.Go(func() {
			for f := range work {
				outside.running.Go(f)
			}
		})
	}
	return sync.OnceFunc(func() {
		outside.Lock()
		if outside.serving--; outside.serving > 0 {
			outside.Unlock()
			return
		}
		close(outside.work)
		outside.work = nil
		outside.Unlock()
		outside.running.Wait()
	})
}
