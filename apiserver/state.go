package apiserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/state"
)

// Export writes the present state as YAML: a document about the file, and one for each object as it is stored.
// [Server.Import] and Options.State read it.
func (s *Server) Export(w io.Writer) error {
	if err := state.Write(w, s.web.Snapshot()); err != nil {
		return fmt.Errorf("apiserver: export: %w", err)
	}
	return nil
}

// Import replaces the state by that of an export. Objects keep their uids, versions, times, managed fields and statuses.
// All watches end, and the history is dropped. A field that a built-in kind does not have is an error. After an error the
// state has not changed.
func (s *Server) Import(r io.Reader) error {
	fresh := core.New(s.core)
	if err := state.Read(r, fresh, s.now()); err != nil {
		return fmt.Errorf("apiserver: import: %w", err)
	}
	s.web.Restore(fresh.Snapshot())
	return nil
}

// Version returns the resourceVersion of the last write in the snapshot.
func (s *Snapshot) Version() uint64 { return s.state.View().Version() }

// fill gives a new state its first objects: those of a file, or those of every cluster.
func fill(into *core.State, begin *core.Beginning, file string, now time.Time) error {
	if file == "" {
		into.Begin(now, begin)
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("apiserver: state: %w", err)
	}
	defer f.Close()
	if err = state.Read(f, into, now); err == nil {
		into.Complete(now, begin)
		return nil
	}
	if _, named := errors.AsType[*fs.PathError](err); !named {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Errorf("apiserver: state: %w", err)
}
