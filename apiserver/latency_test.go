package apiserver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/apiserver"
)

// An answer waits after its effect: who watches knows of a write before the writer does.
func TestLatency(t *testing.T) {
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	synctest.Test(t, func(t *testing.T) {
		const latency = 5 * time.Millisecond
		s := apiserver.Start(t, apiserver.Options{InMemory: true, Latency: latency})
		watch := openWatch(t, s, "")
		seen := make(chan time.Time, 1)
		go func() {
			next(t, watch)
			seen <- time.Now()
		}()
		before := time.Now()
		put(t, s, "a")
		if took := time.Since(before); took != latency {
			t.Errorf("the answer took %v, want %v", took, latency)
		}
		if at := <-seen; at != before {
			t.Errorf("the event came %v after the write began, want at once", at.Sub(before))
		}
	})
}
