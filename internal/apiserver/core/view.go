package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tidwall/btree"
)

// maxLog bounds the changes that are kept, whatever their age.
const maxLog = 1 << 17

// View is one version of a state. It never changes, and is safe for concurrent use.
type View struct {
	settings
	objects *btree.Map[string, *Object]
	version uint64
	log     []Change
	// compacted is the newest version whose change is no longer in the log.
	compacted uint64

	roles  uint64 // the version of the last change of roles and bindings
	memory *memory
}

// settings are the same in all versions of a state, and stay when it is restored.
type settings struct {
	rules  Rules
	forms  *forms
	seed   string
	rbac   bool
	gates  Gates
	nobody User
}

func newView(o Options) View {
	return View{settings: settings{rules: o.Rules, forms: &forms{}, seed: o.Seed, rbac: o.RBAC, gates: o.Gates, nobody: o.Nobody}, objects: &btree.Map[string, *Object]{}, version: 1, memory: &memory{}}
}

// Version returns the version of the last write.
func (v View) Version() uint64 { return v.version }

// Now returns a view of the present state.
func (s *State) Now() View {
	v := s.View
	v.objects = fork(s.objects)
	v.log = slices.Clip(v.log)
	return v
}

// Snapshot is a version of a state to which it can return. It never changes.
type Snapshot struct {
	view View
	made map[string]uint64
}

// Snapshot returns a snapshot of the present state. Its cost does not depend on the number of objects; it keeps the
// memory of objects that have changed since.
func (s *State) Snapshot() *Snapshot { return &Snapshot{view: s.Now(), made: maps.Clone(s.made)} }

// Restore returns to a snapshot, which may be that of another state; the options stay. Watches that were started before
// are void: the caller ends them, see [Watch.Void].
func (s *State) Restore(snap *Snapshot) {
	own := s.settings
	s.View, s.made = snap.view, maps.Clone(snap.made)
	s.settings = own
	s.objects = fork(snap.view.objects)
	s.memory = &memory{} // versions have another meaning
}

// Compact drops the log of changes: older versions can then be neither listed nor watched.
func (s *State) Compact() { s.CompactTo(s.version) }

// CompactTo drops the changes up to a version, which itself can still be listed.
func (s *State) CompactTo(version uint64) {
	n, _ := slices.BinarySearchFunc(s.log, version+1, byVersion)
	s.log, s.compacted = s.log[n:], max(s.compacted, min(version, s.version))
}

// Compacted returns the oldest version that can be listed.
func (v View) Compacted() uint64 { return v.compacted }

// byVersion finds changes in a log.
func byVersion(c Change, version uint64) int { return cmp.Compare(c.Version, version) }

// forget drops changes that are older than the history, and the oldest if there are more than maxLog.
func (s *State) forget(now time.Time) {
	n := max(0, len(s.log)-maxLog)
	for n < len(s.log) && now.Sub(s.log[n].At) > s.opts.History {
		n++
	}
	if n > 0 {
		s.compacted = s.log[n-1].Version
		s.log = s.log[n:]
	}
}

// get returns the object with a key; nil if there is none.
func (v View) get(key string) *Object {
	o, _ := v.objects.Get(key)
	return o
}
