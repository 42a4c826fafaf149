package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// etcdDir is the subdirectory of a data directory with the cluster's state. The rest are
// certificates and the port.
const etcdDir = "etcd"

// Snapshot is a copy of a cluster's state. It is stored in the data directory of its Plane and
// removed with it.
type Snapshot struct{ dir string }

// Snapshot copies the current state of the cluster. A running control plane is paused meanwhile,
// for about 50 milliseconds. A stopped one works, too.
func (p *Plane) Snapshot() (_ *Snapshot, err error) {
	if proc := p.current(); proc.running() && !proc.isPaused() {
		if err := proc.pause(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, proc.resume()) }()
	}
	p.snapshots++
	s := &Snapshot{dir: filepath.Join(p.dir, "snapshots", fmt.Sprint(p.snapshots))}
	if err := copyDir(s.dir, filepath.Join(p.dir, etcdDir)); err != nil {
		return nil, fmt.Errorf("plane: snapshot: %w", err)
	}
	return s, nil
}

// Restore kills the control plane, replaces the cluster's state by that of the snapshot, and starts
// the control plane. Resource versions go back, as after a restore of etcd from a backup. Restore
// returns when the control plane is ready. A snapshot can be restored more than once.
func (p *Plane) Restore(ctx context.Context, s *Snapshot) error {
	p.Kill()
	etcd := filepath.Join(p.dir, etcdDir)
	if err := os.RemoveAll(etcd); err != nil {
		return fmt.Errorf("plane: restore: %w", err)
	}
	if err := copyDir(etcd, s.dir); err != nil {
		return fmt.Errorf("plane: restore: %w", err)
	}
	return p.start(ctx)
}

// copyDir copies a tree of regular files to a directory that does not exist.
func copyDir(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}
