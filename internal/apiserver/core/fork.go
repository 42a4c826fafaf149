package core

import (
	"sync"

	"github.com/tidwall/btree"
)

// forking is held while a tree is copied. A copy also marks the original, which several goroutines may copy.
var forking sync.Mutex

// fork returns a copy of a tree. It costs the same whatever the size, and is safe for concurrent use.
func fork(tree *btree.Map[string, *Object]) *btree.Map[string, *Object] {
	forking.Lock()
	defer forking.Unlock()
	return tree.Copy()
}
