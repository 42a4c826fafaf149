//go:build race

package main

// raced says that this program has the race detector.
const raced = true
