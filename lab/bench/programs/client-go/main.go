// Command client-go is the contender of that name. Command compare starts it and sends it its job.
package main

import (
	"github.com/flyball-io/flyball/lab/bench/contend"
	"github.com/flyball-io/flyball/lab/bench/contender/clientgo"
)

func main() { contend.Main(clientgo.Library) }
