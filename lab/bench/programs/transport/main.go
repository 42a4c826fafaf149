// Command transport is the contender of that name, which reads and holds nothing. Command compare
// starts it and sends it its job.
package main

import (
	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender/transport"
)

func main() { contend.Main(transport.Library) }
