package apiserver

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// maxBegin bounds the beginnings that are kept for the servers of a process.
const maxBegin = 32

// beginnings has first objects of new states by [beginKey].
type beginnings map[[sha256.Size]byte]*core.Beginning

// beginning returns the first objects of new states: with rbac also roles, and the definitions. It is made once for
// each such choice; a server that shares nothing makes its own. An error of a definition names its file.
func beginning(a asks, rbac bool, definitions []definition, progress io.Writer) (*core.Beginning, error) {
	made := beginnings{}
	if !a.alone {
		shared.Lock()
		defer shared.Unlock()
		if shared.begin == nil {
			shared.begin = made
		}
		made = shared.begin
	}
	begin, err := made.get(beginKey(rbac, nil), func() (*core.Beginning, error) { return core.NewBeginning(a.first, rbac) })
	if err != nil || len(definitions) == 0 {
		return begin, err
	}
	return made.get(beginKey(rbac, definitions), func() (*core.Beginning, error) {
		return begin.With(a.first, func(step func(core.Request) core.Answer) error { return define(step, definitions, progress) })
	})
}

// beginKey identifies a choice of first objects.
func beginKey(rbac bool, definitions []definition) [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintln(h, rbac)
	for _, d := range definitions {
		fmt.Fprintln(h, len(d.body))
		h.Write(d.body)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// get returns the beginning with a key, or makes it.
func (b beginnings) get(key [sha256.Size]byte, make func() (*core.Beginning, error)) (*core.Beginning, error) {
	if known := b[key]; known != nil {
		return known, nil
	}
	made, err := make()
	if err != nil {
		return nil, err
	}
	if len(b) >= maxBegin {
		clear(b)
	}
	b[key] = made
	return made, nil
}

// early returns the definitions that are part of the first objects, and those that are created after them: all, if a
// file has other objects of the state, or if a definition cannot be part of a beginning.
func (o Options) early(definitions []definition) (first, later []definition) {
	if o.State != "" || slices.ContainsFunc(definitions, func(d definition) bool { return core.Reserved(d.body) }) {
		return nil, definitions
	}
	return definitions, nil
}
