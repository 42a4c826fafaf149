package setup

import "github.com/flyball-io/flyball"

// tune changes the options that the program and its tests share. Flags of the program come on top. Here is the place for
// what the cache holds: selections and transforms of single kinds in o.Cache.Kinds, namespaces in o.Cache.Namespaces, and
// the budget of memory of each kind in o.Cache.MemoryBudget.
func tune(o *flyball.Options) {
}
