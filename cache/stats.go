package cache

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/informer"
)

// Stats says how much a cache holds.
type Stats struct {
	// Kinds are those that are open, sorted by group, version and kind.
	Kinds []KindStats
	// Total is the sum of them.
	Total Memory
}

// KindStats says how much is held of one kind: by all of its watches together, those of single
// namespaces, of metadata and of other selections.
type KindStats struct {
	Kind schema.GroupVersionKind
	Memory
	// Budget says how what is held compares to the memory budget of the kind; zero: it has none.
	Budget informer.BudgetState
}

// Memory is what is held, and what it takes.
type Memory struct {
	// Objects is how many there are, and SetAside how many of them cannot be used at present.
	Objects, SetAside int
	// WireBytes is the length of the objects as they came over the wire, without what was cut.
	WireBytes int64
	// HeldBytes is the memory that holds them, with their keys and indexes, on and off the heap of
	// the Go runtime. What is on it is an estimate.
	HeldBytes int64
	// OffHeapBytes is the part of HeldBytes that is outside the heap of the Go runtime: GOMEMLIMIT and
	// GOGC do not count it, and the limit of a container does. Set GOMEMLIMIT to what the container
	// may have, less this and a tenth. Chunks that nobody has any more are in it until the next
	// collection: up to 16 MiB, or a quarter of all memory if that is more. See Options.GoHeap.
	OffHeapBytes int64
	// Templates is how many objects others are stored as a difference from.
	Templates int
}

func (m *Memory) add(o Memory) {
	m.Objects += o.Objects
	m.SetAside += o.SetAside
	m.WireBytes += o.WireBytes
	m.HeldBytes += o.HeldBytes
	m.OffHeapBytes += o.OffHeapBytes
	m.Templates += o.Templates
}

// Stats says how much is held now, kind by kind. The kinds are looked at one after another.
func (c *Cache) Stats() Stats {
	var s Stats
	for _, in := range c.factory.Informers() {
		gvk, f := in.Kind().GVK, in.Figures()
		if n := len(s.Kinds); n == 0 || s.Kinds[n-1].Kind != gvk {
			s.Kinds = append(s.Kinds, KindStats{Kind: gvk})
		}
		m := Memory{
			Objects: f.Store.Objects, SetAside: in.State().SetAside,
			WireBytes: f.Store.Bytes, HeldBytes: f.Store.Held, OffHeapBytes: f.Store.OffHeap, Templates: f.Store.Templates,
		}
		k := &s.Kinds[len(s.Kinds)-1]
		k.add(m)
		s.Total.add(m)
		if f.Budget.Bytes > 0 {
			k.Budget = f.Budget
		}
	}
	return s
}

// budget is that of a kind, one for all of its watches; nil if it has none.
func (c *Cache) budget(gvk schema.GroupVersionKind) *informer.Budget {
	bytes := c.special[gvk].MemoryBudget
	if bytes == 0 {
		bytes = c.o.MemoryBudget
	}
	if bytes <= 0 {
		return nil
	}
	b, _ := c.budgets.LoadOrStore(gvk, informer.NewBudget(bytes))
	return b.(*informer.Budget)
}
