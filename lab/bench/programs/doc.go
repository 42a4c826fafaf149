// Package programs only holds its subfolders: a program for each contender with one library, which
// compare builds and starts. See package contend.
//
// It imports the contenders' libraries, and only tests that start the programs import it. The go
// command therefore reruns these tests when a library has changed.
package programs

import (
	_ "github.com/flyball-io/flyball/lab/bench/contend"
	_ "github.com/flyball-io/flyball/lab/bench/contender/clientgo"
	_ "github.com/flyball-io/flyball/lab/bench/contender/controllerruntime"
	_ "github.com/flyball-io/flyball/lab/bench/contender/flyball"
	_ "github.com/flyball-io/flyball/lab/bench/contender/transport"
)
