package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
)

// board has what is known of the cluster, for the story to wait for.
type board struct {
	mu      sync.Mutex
	changed chan struct{} // closed, and another, with each change
	state   state
}

// state is what expectations are about. Objects in it are not changed.
type state struct {
	deployment *appsv1.Deployment // nil: there is none
	own        map[string]bool    // the Pods of the Deployment
	warnings   []string           // of podscaler
	writes     int                // of podscaler, but for Kubernetes Events
}

func newBoard() *board {
	return &board{changed: make(chan struct{}), state: state{own: map[string]bool{}}}
}

func (b *board) change(f func(*state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.state)
	close(b.changed)
	b.changed = make(chan struct{})
}

// await returns nil when ok says so, or the cause when ctx ended first.
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

// text says where things stand, for an expectation that did not hold.
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

// wanted is how many replicas a Deployment is to have.
func wanted(d *appsv1.Deployment) int32 {
	if d.Spec.Replicas == nil {
		return 1 // as the API has it
	}
	return *d.Spec.Replicas
}
