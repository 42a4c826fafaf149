// Package inline marks predicates and handlers of Flyball that call no function of a user. Controllers
// call them on the goroutine that applies changes to the cache, and any other on a goroutine of its own.
package inline

// Marker is implemented by what may be marked. Users cannot implement it: they cannot name Mark.
type Marker interface{ NeverBlocks(Mark) bool }

// Mark is the argument of NeverBlocks.
type Mark struct{}

// NeverBlocks reports whether x is marked.
func NeverBlocks(x any) bool {
	m, ok := x.(Marker)
	return ok && m.NeverBlocks(Mark{})
}
