package faults_test

import (
	"context"
	"runtime/pprof"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
	"github.com/flyball-io/flyball/test/servertest"
)

// world runs a test with a server of its own, in memory and in a bubble: time is virtual, and connections are pipes. If the
// tests run on a real control plane, the test has that one, and the real clock.
func world(t *testing.T, test func(t *testing.T, p *servertest.Server)) {
	t.Helper()
	if servertest.Real() {
		parallel(t)
		test(t, servertest.Shared(t))
		return
	}
	bubble(t, apiserver.Options{RBAC: true, Controllers: []string{"*"}}, func(t *testing.T, s *apiserver.Server) {
		test(t, &servertest.Server{Memory: s})
	})
}

// bubble runs a test with a server in memory in a bubble, beside other parallel tests.
func bubble(t *testing.T, o apiserver.Options, test func(t *testing.T, s *apiserver.Server)) {
	t.Helper()
	tier.NotShort(t, "starts an API server")
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	t.Parallel()
	o.InMemory = true
	synctest.Test(t, func(t *testing.T) { test(t, apiserver.Start(t, o)) })
}

// inBubble reports whether time is virtual. The clock of a bubble begins in the year 2000.
func inBubble() bool { return time.Now().Year() < 2020 }

// span returns a time in full if it is virtual, or in a long run; otherwise short.
func span(full, short time.Duration) time.Duration {
	if inBubble() {
		return full
	}
	return pick(full, short)
}

// pass lets a time pass, or returns at the end of the test.
func pass(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// part runs a part of a test. In a bubble there are no subtests.
func part(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	if inBubble() {
		t.Log(name)
		f(t)
		return
	}
	t.Run(name, f)
}

const testLabel = "test"

// parallel runs the rest of a test beside other parallel tests. The goroutines that the test starts from here on have
// a label, so that they can be counted. Tests that measure the memory of the process, or change its environment, are
// not parallel: they run before those that are.
func parallel(t *testing.T) {
	t.Helper()
	servertest.Shared(t) // its goroutines belong to no test
	t.Parallel()
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(testLabel, t.Name())))
}
