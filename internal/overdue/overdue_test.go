package overdue_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/internal/overdue"
)

// TestWatchReportsEachOverdueCallOnce: each call that runs for a second is reported once, after
// that second, and no other is.
func TestWatchReportsEachOverdueCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var reported []string
		start := time.Now()
		w := overdue.New(overdue.After, func(call string, began time.Time) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, fmt.Sprint(call, " since ", began.Sub(start), " at ", time.Since(start)))
		})
		call := func(name string, d time.Duration) {
			w.Begin(name)
			time.Sleep(d)
			w.End()
		}
		for range 100 {
			call("quick", 30*time.Millisecond)
		}
		call("slow", 5*time.Minute)
		call("nearly", time.Second-1)
		call("again", 2*time.Second)
		time.Sleep(time.Hour)
		call("late", time.Second+1)
		mu.Lock()
		defer mu.Unlock()
		want := []string{"slow since 3s at 4s", "again since 5m3.999999999s at 5m4.999999999s", "late since 1h5m5.999999999s at 1h5m6.999999999s"}
		if !slices.Equal(reported, want) {
			t.Errorf("reported %q, want %q", reported, want)
		}
		w.Begin("stopped")
		w.Stop()
		time.Sleep(time.Minute)
		if _, _, ok := w.Overdue(); !ok || len(reported) != len(want) {
			t.Errorf("overdue %v; reported %q", ok, reported)
		}
		w.Begin("after")
		w.End()
	})
}

func BenchmarkWatch(b *testing.B) {
	w := overdue.New(overdue.After, func(int, time.Time) {})
	defer w.Stop()
	for b.Loop() {
		w.Begin(1)
		w.End()
	}
}
