// Command controller-runtime-flyball is the contender of that name: controller-runtime with the packed cache.
// Command compare starts it and sends it its job.
package main

import (
	"github.com/flyball-io/flyball/adapter/ctrlcache"
	"github.com/flyball-io/flyball/bench/contend"
	"github.com/flyball-io/flyball/bench/contender"
	"github.com/flyball-io/flyball/bench/contender/controllerruntime"
)

func main() {
	contend.Main(controllerruntime.With(contender.PackedControllerRuntime, ctrlcache.New))
}
