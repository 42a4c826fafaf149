package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// board holds the known state of the cluster. The story waits for its changes.
type board struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each change
	state   state
}

// state is the subject of expectations. Its objects are not changed.
type state struct {
	deployment *appsv1.Deployment   // nil: there is none
	own        map[string]bool      // the Pods of the Deployment
	versions   map[types.UID]string // the resource versions of the Deployment and of all Pods
	warnings   []string             // of podscaler
	writes     int                  // of podscaler, without Kubernetes Events
}

func newBoard() *board {
	return &board{changed: make(chan struct{}), state: state{own: map[string]bool{}, versions: map[types.UID]string{}}}
}

func (b *board) change(f func(*state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.state)
	close(b.changed)
	b.changed = make(chan struct{})
}

// await returns nil when ok returns true, or the cause if ctx ends first.
func (b *board) await(ctx context.Context, ok func(*state) bool) error {
	for {
		b.mu.Lock()
		met, changed := ok(&b.state), b.changed
		b.mu.Unlock()
		if met {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// has reports whether the known state has these resource versions, by UID, and no other object.
func (b *board) has(versions map[types.UID]string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Equal(b.state.versions, versions)
}

// text describes the state, for an expectation that failed.
func (b *board) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.deployment == nil {
		return "there is no Deployment"
	}
	d := b.state.deployment
	return fmt.Sprintf("it has %d, %d of them ready; %d Pods of its own; warnings %q",
		wanted(d), d.Status.ReadyReplicas, len(b.state.own), slices.Clone(b.state.warnings))
}

// wanted returns the desired number of replicas of a Deployment.
func wanted(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1 // the API's default
	}
	return *d.Spec.Replicas
}
