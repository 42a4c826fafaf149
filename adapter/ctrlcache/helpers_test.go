package ctrlcache

import "runtime"

// collect frees what nobody uses.
func collect() {
	runtime.GC()
	runtime.GC()
}
