// Command client-go is the contender of that name: compare starts it, and tells it what to hold.
package main

import (
	"github.com/flyball-io/flyball/bench/contend"
	"github.com/flyball-io/flyball/bench/contender/clientgo"
)

func main() { contend.Main(clientgo.Library) }
