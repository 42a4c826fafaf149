package faults_test

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/internal/heap/heaptest"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/servertest"
)

// atATime is the number of parallel tests that run at a time on a real control plane, unless -parallel says another. They
// mostly wait there: for a silence, a pause or a lease.
const atATime = 8

func allowParallel() {
	flag.Parse()
	given := !servertest.Real() // in a bubble nothing waits
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", fmt.Sprint(atATime))
	}
}

// goroutines returns how many goroutines a parallel test has, and those around it if it is a subtest. For another test
// it is all of the process.
func goroutines(t *testing.T) int {
	t.Helper()
	var all bytes.Buffer
	must(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
	sum, count := 0, 0
	for line := range strings.Lines(all.String()) {
		if strings.Contains(line, " @ ") {
			count = 0
			fmt.Sscanf(line, "%d @", &count)
		}
		var name string
		if _, labels, ok := strings.Cut(line, "# labels: "); ok {
			fmt.Sscanf(labels, `{"`+testLabel+`":%q`, &name)
		}
		if name != "" && strings.HasPrefix(t.Name()+"/", name+"/") {
			sum += count
		}
	}
	if sum == 0 { // not even the one that calls has a label
		return runtime.NumGoroutine()
	}
	return sum
}

// measure returns the number of goroutines of the test, and the memory in use. The memory is that of the process. Outside of
// the audit nothing is measured, nor in a bubble: the check at its end is that no goroutine is left.
func measure(t *testing.T) (n int, heap int64) {
	t.Helper()
	if !tier.InAudit() || inBubble() {
		return 0, 0
	}
	heap = heaptest.Live()
	return goroutines(t), heap
}

// Goroutines of one test are not counted for another one. Those of a server that all share are counted for none.
func TestGoroutinesAreCountedForEachTest(t *testing.T) {
	tier.Audit(t, "counts goroutines")
	const more = 50
	end := make(chan struct{})
	block := func(started chan struct{}) {
		for range more {
			go func() { started <- struct{}{}; <-end }()
		}
		for range more {
			<-started
		}
	}
	t.Run("both", func(t *testing.T) {
		ready := make(chan struct{})
		t.Run("one", func(t *testing.T) {
			parallel(t)
			started := make(chan struct{}, more)
			before := goroutines(t)
			block(started)
			if n := goroutines(t); n != before+more || before > 2 {
				t.Errorf("%d goroutines, then %d", before, n)
			}
			close(ready)
		})
		t.Run("another", func(t *testing.T) {
			parallel(t)
			<-ready
			if n := goroutines(t); n > 2 {
				t.Errorf("%d goroutines", n)
			}
		})
	})
	if n := goroutines(t); n < more {
		t.Errorf("%d goroutines in the process", n)
	}
	close(end)
}
