package metrics_test

import (
	"testing"
	"time"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/controller"
)

// These measure the cost of metrics for a reconcile, a request and a scrape.
func BenchmarkReconciled(b *testing.B) {
	h := newMetrics().Controller("order", 1)
	r := controller.Reconciled{Controller: "order", Outcome: controller.Success, Took: time.Millisecond}
	for b.Loop() {
		h.Reconciled(r)
		h.Waited(time.Millisecond)
		h.Worked(time.Millisecond)
	}
}

func BenchmarkRequest(b *testing.B) {
	done := newMetrics().ClientHook("host")
	d := client.Done{Call: client.Call{Verb: "get"}, Code: 200, Duration: time.Millisecond}
	for b.Loop() {
		done(d)
	}
}

func BenchmarkGather(b *testing.B) {
	g := everything().Gatherer()
	for b.Loop() {
		if _, err := g.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
