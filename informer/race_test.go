//go:build race

package informer_test

// updatesPerKey is less with the race detector, which costs ten times as much.
const updatesPerKey = 50
