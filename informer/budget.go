package informer

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Budget is how many bytes of memory informers should hold at most: those that are given the same
// one, together. It bounds nothing. When what they hold passes it this is told, once: a line in the
// log, a *BudgetError to OnProblem, and the State until it is at most nine tenths of the budget
// again, which is a line in the log, too. Every object is kept, and the informers work on.
//
// What counts is [store.Stats].Held of informers that run, without what was Dropped and waits for the
// garbage collector. It is looked at after each batch of changes. A nil Budget is none. All methods may be called from any goroutine.
type Budget struct {
	bytes int64

	mu   sync.Mutex
	held int64
	over bool
}

// NewBudget returns a budget of so many bytes; nil if that is zero or negative.
func NewBudget(bytes int64) *Budget {
	if bytes <= 0 {
		return nil
	}
	return &Budget{bytes: bytes}
}

// BudgetState is how a budget and what is held of it compare. The zero value is that of no budget.
type BudgetState struct {
	// Bytes is the budget, Held what is held.
	Bytes, Held int64
	// Over is set when Held passes Bytes, and until it is at most nine tenths of that again.
	Over bool
}

// State says where the budget stands.
func (b *Budget) State() BudgetState {
	if b == nil {
		return BudgetState{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return BudgetState{Bytes: b.bytes, Held: b.held, Over: b.over}
}

// add counts bytes that are held more, or less, than before. crossed reports whether Over changed.
func (b *Budget) add(bytes int64) (s BudgetState, crossed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.over
	b.held += bytes
	switch {
	case b.held > b.bytes:
		b.over = true
	case b.held <= b.bytes-b.bytes/10:
		b.over = false
	}
	return BudgetState{Bytes: b.bytes, Held: b.held, Over: b.over}, b.over != was
}

// BudgetError says that informers hold more memory than they should.
type BudgetError struct {
	// Kind is that of the informer that passed the budget.
	Kind schema.GroupVersionKind
	// Budget and Held are in bytes.
	Budget, Held int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("memory budget of %s: %d bytes are held, it is %d", e.Kind.Kind, e.Held, e.Budget)
}

// weigh counts what the store holds against the budget. It belongs to the applier.
func (in *Informer) weigh() {
	if in.o.Budget != nil {
		s := in.store.Stats()
		in.account(s.Held - s.Dropped)
	}
}

// account notes that the store holds so many bytes now, and tells if that crosses the budget.
func (in *Informer) account(held int64) {
	more := held - in.weight
	if more == 0 {
		return
	}
	in.weight = held
	s, crossed := in.o.Budget.add(more)
	switch {
	case !crossed:
	case s.Over:
		in.log.Warn("memory budget exceeded", "held", s.Held, "budget", s.Bytes)
		in.problem(Problem{Kind: in.o.Kind.GVK, Err: &BudgetError{Kind: in.o.Kind.GVK, Budget: s.Bytes, Held: s.Held}})
	default:
		in.log.Info("memory is within its budget again", "held", s.Held, "budget", s.Bytes)
	}
}

// unweigh takes the store out of the budget when the informer ends. There is nothing to tell.
func (in *Informer) unweigh() {
	if in.o.Budget != nil {
		in.o.Budget.add(-in.weight)
		in.weight = 0
	}
}
