package informer_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
)

// A handler that panics for every object is told of to the hook each time, and in the log a few
// times.
func TestPanicsDoNotDrownTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		for i := range 100 {
			s.Put(configMap(fmt.Sprintf("cm-%03d", i), "1"))
		}
		var bad problems
		var log bytes.Buffer // written by one goroutine; read after the stop
		in := newInformer(t, s, func(o *informer.Options) {
			o.OnProblem = bad.add
			o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
		})
		if _, err := informer.AddHandler(in, informer.Handler[corev1.ConfigMap]{
			OnAdd: func(*corev1.ConfigMap, bool) { panic("always") },
		}); err != nil {
			t.Fatal(err)
		}
		stop := start(t, in)
		synctest.Wait()
		_ = stop()
		if n := strings.Count(log.String(), "handler panicked"); bad.len() != 100 || n == 0 || n > 5 {
			t.Errorf("%d problems, %d lines in the log; want 100, and 1 to 5", bad.len(), n)
		}
	})
}
