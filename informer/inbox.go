package informer

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/reflector"
)

// inbox holds updates that the reader could not apply. The reader cannot apply while the applier's goroutine
// holds the write lock, and never for a kind with a slow source or a transform. A newer state of an object
// replaces the older one in its slot. The reader waits while maxInbox slots are taken; further events stay in
// the connection.
type inbox struct {
	mu      sync.Mutex
	updates []reflector.Update
	slots   map[object.Key]int // the last update of a key since the last step of a list
	taken   chan struct{}      // take leaves one token here

	pushed atomic.Uint64 // all updates with an entry, those applied at once included
	merged atomic.Uint64 // updates that replaced one in its slot
}

// maxInbox is the most updates in the inbox. Each holds an object that is not packed yet: some kilobytes. With
// eleven kinds, whose first lists come at once, 1,024 of them took 20 MB more and saved no time.
const maxInbox = 128

func newInbox() *inbox {
	return &inbox{slots: map[object.Key]int{}, taken: make(chan struct{}, 1)}
}

func (b *inbox) push(u *reflector.Update) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if u.Entry == nil { // a step of a list
		clear(b.slots)
	} else {
		key := u.Entry.Key()
		if at, ok := b.slots[key]; ok && follows(u, &b.updates[at]) {
			b.merged.Add(1)
			b.updates[at] = *u
			return
		}
		b.slots[key] = len(b.updates)
	}
	b.updates = append(b.updates, *u)
}

// follows reports whether u is a newer state of the same incarnation. Deletes are kept apart.
func follows(u, was *reflector.Update) bool {
	order, ok := object.CompareVersions(u.Entry.ResourceVersion(), was.Entry.ResourceVersion())
	return u.What == reflector.Put && was.What == reflector.Put && u.Entry.SameUID(was.Entry) && (!ok || order >= 0)
}

// take returns all updates, and empties the inbox.
func (b *inbox) take() []reflector.Update {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.updates
	b.updates = nil
	if clear(b.slots); len(all) > maxInbox/8 { // a map does not shrink
		b.slots = map[object.Key]int{}
	}
	select {
	case b.taken <- struct{}{}:
	default:
	}
	return all
}

// waitForRoom waits until the inbox has fewer than maxInbox updates, or ctx ends.
func (b *inbox) waitForRoom(ctx context.Context) {
	for b.len() >= maxInbox && ctx.Err() == nil {
		select {
		case <-b.taken:
		case <-ctx.Done():
		}
	}
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.updates)
}
