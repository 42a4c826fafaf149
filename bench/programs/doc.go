// Package programs is nothing but what is below it: a program for each contender, with one library,
// which compare builds and starts. See package contend.
//
// It imports what they have, and is imported by tests that start them, and by nothing else: so their
// results are not taken from the cache of the go command when a library has changed.
package programs

import (
	_ "github.com/flyball-io/flyball/bench/contend"
	_ "github.com/flyball-io/flyball/bench/contender/clientgo"
	_ "github.com/flyball-io/flyball/bench/contender/controllerruntime"
	_ "github.com/flyball-io/flyball/bench/contender/flyball"
)
