package clientgo

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	packed "github.com/flyball-io/flyball/adapter/internal/indexer"
	"github.com/flyball-io/flyball/informer"
)

// indexer reads the packed store of an informer.
type indexer struct {
	*packed.Indexer
	in *Informer
}

func newIndexer(in *Informer) *indexer {
	return &indexer{in: in, Indexer: packed.New(packed.Source{
		Package: "clientgo", Name: in.Name(), Logger: in.s.c.Logger,
		Informer: func() (*informer.Informer, error) {
			if of := in.packed.Load(); of != nil {
				return of, nil
			}
			return nil, in.Err()
		},
		New: in.newObject, Clean: in.clean,
		Indexers: func() toolscache.Indexers { return *in.indexers.Load() }, Add: in.AddIndexers,
	})}
}

// AddIndexers implements SharedIndexInformer, before or while the informer runs. The functions share their objects
// with handlers, and must not change them. An object for which one fails or panics is rejected: reads do not have
// it, and OnProblem and the log name it. If a name is taken or a function is nil, none is added.
func (in *Informer) AddIndexers(all toolscache.Indexers) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return fmt.Errorf("clientgo: %s: indexer was not added because it has stopped already", in.Name())
	}
	next := maps.Clone(*in.indexers.Load())
	for name, f := range all {
		if f == nil {
			return fmt.Errorf("clientgo: %s: the function of index %q is nil", in.Name(), name)
		}
		if _, taken := next[name]; taken {
			return fmt.Errorf("clientgo: %s: indexer conflict: there is an index %q", in.Name(), name)
		}
		next[name] = f
	}
	if in.feed != nil {
		for name, f := range all {
			if err := in.addIndex(name, f); err != nil {
				return fmt.Errorf("clientgo: %w", err)
			}
		}
	}
	in.indexers.Store(&next)
	return nil
}

// addIndex adds an index to the store. in.mu is held.
func (in *Informer) addIndex(name string, f toolscache.IndexFunc) error {
	if packed.ByNamespace(name, f) {
		return nil
	}
	return in.feed.AddIndex(name, func(o runtime.Object) ([]string, error) { return f(o) })
}
