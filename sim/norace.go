//go:build !race

package sim

// defaultPairs is how many plans of several faults are tried.
const defaultPairs = 200

// defaultSequences is how many sequences of objects are explored.
const defaultSequences = 50

// defaultPart is the part of the single faults that is tried: all.
const defaultPart = "1/1"
