// Command controller-runtime-flyball is the contender of that name: controller-runtime with the packed cache.
// Command compare starts it and sends it its job.
package main

import (
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender"
	"github.com/flyball-io/flyball/lab/bench/contender/controllerruntime"
)

func main() {
	contend.Main(controllerruntime.With(contender.PackedControllerRuntime, ctrlcache.New, held))
}

// held returns the bytes outside the Go heap.
func held(c crcache.Cache) (n int64) {
	for _, w := range c.(*ctrlcache.Cache).Watches() {
		n += w.Figures.Store.OffHeap
	}
	return n
}
