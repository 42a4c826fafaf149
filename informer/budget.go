package informer

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Budget is the memory, in bytes, that its informers should hold together. It is no limit: every object stays,
// and the informers go on. Above the budget, the informer logs once, reports a *BudgetError to OnProblem, and
// State.Over is set. At nine tenths of the budget State.Over is cleared, and the informer logs that.
//
// The held bytes are [store.Stats].Held of the running informers, without Dropped. Each commit compares them
// with the budget. A nil Budget is no budget. Any goroutine may call its methods.
type Budget struct {
	// Bytes is the budget. Zero and negative numbers are no budget. It must not change.
	Bytes int64

	mu   sync.Mutex
	held int64
	over bool
}

// BudgetState compares a budget with the held bytes. The zero value is the state of no budget.
type BudgetState struct {
	// Bytes is the budget. Held is the number of held bytes.
	Bytes, Held int64
	// Over is true from when Held passes Bytes until it is at most nine tenths of it.
	Over bool
}

// set reports whether there is a budget.
func (b *Budget) set() bool { return b != nil && b.Bytes > 0 }

// State returns the present state.
func (b *Budget) State() BudgetState {
	if !b.set() {
		return BudgetState{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return BudgetState{Bytes: b.Bytes, Held: b.held, Over: b.over}
}

// add adds to the held bytes. crossed reports whether Over changed.
func (b *Budget) add(bytes int64) (s BudgetState, crossed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.over
	b.held += bytes
	switch {
	case b.held > b.Bytes:
		b.over = true
	case b.held <= b.Bytes-b.Bytes/10:
		b.over = false
	}
	return BudgetState{Bytes: b.Bytes, Held: b.held, Over: b.over}, b.over != was
}

// BudgetError says that informers hold more memory than their budget.
type BudgetError struct {
	// Kind is the kind of the informer that passed the budget.
	Kind schema.GroupVersionKind
	// Budget and Held are in bytes.
	Budget, Held int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("memory budget of %s: %d bytes are held, it is %d", e.Kind.Kind, e.Held, e.Budget)
}

// weigh counts the held bytes of the store against the budget. The applier calls it.
func (in *Informer) weigh() {
	if in.o.Budget.set() {
		s := in.store.Stats()
		in.account(s.Held - s.Dropped)
	}
}

// account records the held bytes, and reports if they cross the budget.
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

// unweigh removes the store from the budget when the informer stops. It reports nothing.
func (in *Informer) unweigh() {
	if in.o.Budget.set() {
		in.o.Budget.add(-in.weight)
		in.weight = 0
	}
}
