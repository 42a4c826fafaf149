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

// beginning returns the first objects of new states: with rbac also roles, and the definitions. It is made once for
// each such choice. An error of a definition names its file.
func beginning(a asks, rbac bool, definitions []definition, progress io.Writer) (*core.Beginning, error) {
	ask := a.first
	shared.Lock()
	defer shared.Unlock()
	if a.alone {
		clear(shared.begin)
		defer clear(shared.begin)
	}
	begin, err := kept(beginKey(rbac, nil), func() (*core.Beginning, error) { return core.NewBeginning(ask, rbac) })
	if err != nil || len(definitions) == 0 {
		return begin, err
	}
	return kept(beginKey(rbac, definitions), func() (*core.Beginning, error) {
		return begin.With(ask, func(step func(core.Request) core.Answer) error { return define(step, definitions, progress) })
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

// kept returns the beginning with a key, or makes it. The caller holds the lock of shared.
func kept(key [sha256.Size]byte, make func() (*core.Beginning, error)) (*core.Beginning, error) {
	if b := shared.begin[key]; b != nil {
		return b, nil
	}
	b, err := make()
	if err != nil {
		return nil, err
	}
	if shared.begin == nil || len(shared.begin) >= maxBegin {
		shared.begin = map[[sha256.Size]byte]*core.Beginning{}
	}
	shared.begin[key] = b
	return b, nil
}

// early returns the definitions that are part of the first objects, and those that are created after them: all, if a
// file has other objects of the state, or if a definition cannot be part of a beginning.
func (o Options) early(definitions []definition) (first, later []definition) {
	if o.State != "" || slices.ContainsFunc(definitions, func(d definition) bool { return core.Reserved(d.body) }) {
		return nil, definitions
	}
	return definitions, nil
}
