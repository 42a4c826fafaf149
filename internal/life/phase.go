// Package life starts the functions of a program phase by phase, and stops them in reverse. It knows nothing of
// controllers: the manager says what the phases wait for, and who leads.
package life

import (
	"errors"
	"fmt"
)

// Phase is a part of a life. The phases start in this order and stop in reverse.
type Phase int

const (
	// Serve is for servers that the other phases need.
	Serve Phase = iota
	// Sync is for caches.
	Sync
	// Always is for what runs on every replica.
	Always
	// Lead is for what runs on the leader alone, if there is an election.
	Lead

	// Phases is how many there are.
	Phases = iota
)

func (p Phase) String() string {
	if p < 0 || p >= Phases {
		return fmt.Sprintf("phase %d", int(p))
	}
	return [...]string{"serve", "sync", "always", "lead"}[p]
}

var (
	// ErrClosed is the cause with which a member is stopped that was closed.
	ErrClosed = errors.New("closed")
	// ErrTaken says that a member of this name was added already.
	ErrTaken = errors.New("the name is taken")
)
