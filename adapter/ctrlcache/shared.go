package ctrlcache

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flyball-io/flyball/adapter/internal/indexer"
	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/object"
)

// ErrReadOnly is the error of writes to the store of an informer: only its watch writes.
var ErrReadOnly = indexer.ErrReadOnly

var errCacheOption = errors.New("the informer belongs to a cache: set it in cache.Options")

// shared is an informer of one watch. As in the default cache it is a SharedIndexInformer, whose store programs read
// and whose version they compare with that of their writes.
type shared struct {
	*Informer
	store *indexer.Indexer
}

var (
	_ toolscache.SharedIndexInformer = (*shared)(nil)
	_ toolscache.Controller          = controller{}
)

// shown returns the informer for programs.
func (in *Informer) shown() crcache.Informer {
	if in.shared == nil {
		return in
	}
	return in.shared
}

// share makes the SharedIndexInformer, if there is one watch.
func (in *Informer) share() {
	if len(in.watches) != 1 {
		return
	}
	in.shared = &shared{in, indexer.New(indexer.Source{
		Package: "ctrlcache", Name: in.Name(), Logger: in.c.o.Logger, Prefix: funcIndex,
		Informer: func() (*informer.Informer, error) { return in.watches[0].in, nil },
		New:      func(schema.GroupVersionKind) (object.Object, error) { return in.key.newObject(in.c.opts.Scheme) },
		Clean:    objects.Untag,
		Indexers: func() toolscache.Indexers { return *in.indexers.Load() }, Add: in.AddIndexers,
	})}
}

// GetStore implements SharedInformer. Each read decodes into objects of the caller. Writes are [ErrReadOnly].
func (in *shared) GetStore() toolscache.Store { return in.store }

// GetIndexer implements SharedIndexInformer. It has the indexes of AddIndexers, and that by namespace.
func (in *shared) GetIndexer() toolscache.Indexer { return in.store }

// LastSyncResourceVersion implements SharedInformer. It is the version that the watch has told, which may be a moment
// behind or ahead of reads. Reads are never behind LastStoreSyncResourceVersion of the store.
func (in *shared) LastSyncResourceVersion() string {
	return in.watches[0].in.State().Watch.ResourceVersion
}

// Run implements SharedInformer. The cache runs the informer: this logs that and returns.
func (in *shared) Run(<-chan struct{}) { in.RunWithContext(context.Background()) }

// RunWithContext implements SharedInformer. See Run.
func (in *shared) RunWithContext(context.Context) {
	in.c.o.Logger.Warn("an informer of a cache is run by the cache alone", "informer", in.Name())
}

// SetTransform implements SharedInformer. It is an error: transforms are options of the cache.
func (in *shared) SetTransform(toolscache.TransformFunc) error { return in.refuse("SetTransform") }

// SetWatchErrorHandler implements SharedInformer. It is an error: the handler is an option of the cache.
func (in *shared) SetWatchErrorHandler(toolscache.WatchErrorHandler) error {
	return in.refuse("SetWatchErrorHandler")
}

// SetWatchErrorHandlerWithContext implements SharedInformer. See SetWatchErrorHandler.
func (in *shared) SetWatchErrorHandlerWithContext(toolscache.WatchErrorHandlerWithContext) error {
	return in.refuse("SetWatchErrorHandlerWithContext")
}

func (in *shared) refuse(call string) error {
	return fmt.Errorf("ctrlcache: %s of the %s: %w", call, in.Name(), errCacheOption)
}

// GetController implements SharedInformer. Its Run does nothing.
func (in *shared) GetController() toolscache.Controller { return controller{in} }

type controller struct{ *shared }

func (controller) Run(<-chan struct{})            {}
func (controller) RunWithContext(context.Context) {}
