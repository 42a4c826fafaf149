//go:build !race

package informer_test

// updatesPerKey is how often each of 1,000 keys changes in TestBlockedForEverCostsAKeyEach, unless FLYBALL_LONG is set.
const updatesPerKey = 200
