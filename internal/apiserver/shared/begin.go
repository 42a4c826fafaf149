package shared

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// maxBegin bounds the beginnings that are kept for the servers of a process.
const maxBegin = 32

// beginnings has first objects of new states by [beginKey].
type beginnings map[[sha256.Size]byte]*core.Beginning

// Beginning returns the first objects of new states: with rbac also roles, and the definitions. It is made once for
// each such choice; a server that shares nothing makes its own. An error of a definition names its file.
func (a Asks) Beginning(rbac bool, definitions []Definition, progress io.Writer) (*core.Beginning, error) {
	made := beginnings{}
	if !a.alone {
		own.Lock()
		defer own.Unlock()
		if own.begin == nil {
			own.begin = made
		}
		made = own.begin
	}
	begin, err := made.get(beginKey(rbac, nil), func() (*core.Beginning, error) { return core.NewBeginning(a.First, rbac) })
	if err != nil || len(definitions) == 0 {
		return begin, err
	}
	return made.get(beginKey(rbac, definitions), func() (*core.Beginning, error) {
		return begin.With(a.First, func(step func(core.Request) core.Answer) error { return Define(step, definitions, progress) })
	})
}

// beginKey identifies a choice of first objects.
func beginKey(rbac bool, definitions []Definition) [sha256.Size]byte {
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
