package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// etcdDir is where a data directory keeps the cluster's state, the rest
// being certificates and the port.
const etcdDir = "etcd"

// Snapshot is a copy of a cluster's state. It lies in the data directory of
// its Plane and goes with it.
type Snapshot struct{ dir string }

// Snapshot copies the cluster's state as it is now. The control plane stands
// still meanwhile, for some 50 milliseconds; it need not run.
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

// Restore kills the control plane, puts the cluster's state back to that of
// the snapshot, which can be used again, and starts it: as after a restore of
// etcd from a backup, resource versions go back. It returns when the control
// plane is ready.
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

// copyDir copies a tree of plain files to a directory that does not exist.
func copyDir(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}
