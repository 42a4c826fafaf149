//go:build race

package sim

// defaultPairs is how many plans of several faults are tried.
const defaultPairs = 10

// defaultSequences is how many sequences of objects are explored.
const defaultSequences = 4

// defaultPart is the part of the single faults that is tried. With the race detector a run takes ten times as long.
const defaultPart = "1/16"
