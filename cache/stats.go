package cache

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/informer"
)

// Stats is the size of a cache.
type Stats struct {
	// Kinds are the open kinds, sorted by group, version and kind.
	Kinds []KindStats
	// Total is the sum over Kinds.
	Total Memory
}

// KindStats is the size of one kind in all of its watches: of single namespaces, of metadata and of
// other selections.
type KindStats struct {
	Kind schema.GroupVersionKind
	Memory
	// Budget is the state of the kind's memory budget. Zero means that it has none.
	Budget informer.BudgetState
}

// Memory is the number and the size of the held objects.
type Memory struct {
	// Objects is the number of objects. SetAside is the number of those that are quarantined,
	// because they cannot be used at present.
	Objects, SetAside int
	// WireBytes is the length of the objects as received, without the removed parts.
	WireBytes int64
	// HeldBytes is the memory of the objects, their keys and indexes, on and off the heap of the Go
	// runtime. The part on the heap is an estimate.
	HeldBytes int64
	// OffHeapBytes is the part of HeldBytes outside the heap of the Go runtime. GOMEMLIMIT and GOGC
	// do not count it, but the limit of a container does. Set GOMEMLIMIT to the limit of the
	// container, less this and a tenth. It includes unused chunks until the next collection: up to
	// 16 MiB, or a quarter of all memory if that is more. See Options.GoHeap.
	OffHeapBytes int64
	// Templates is the number of objects from which others are stored as a difference.
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

// Stats returns the current size, kind by kind. The kinds are read one after another, not as one
// snapshot.
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

// budget returns the budget of a kind, shared by all of its watches, or nil.
func (c *Cache) budget(gvk schema.GroupVersionKind) *informer.Budget {
	bytes := c.overrides[gvk].MemoryBudget
	if bytes == 0 {
		bytes = c.o.MemoryBudget
	}
	if bytes <= 0 {
		return nil
	}
	b, _ := c.budgets.LoadOrStore(gvk, informer.NewBudget(bytes))
	return b.(*informer.Budget)
}
