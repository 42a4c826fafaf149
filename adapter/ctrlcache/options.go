package ctrlcache

import (
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flyball-io/flyball/adapter/internal/objects"
	"github.com/flyball-io/flyball/informer"
)

// Options are what this cache has beside cache.Options of controller-runtime. The zero value works:
//
//	NewCache: ctrlcache.Options{CutManagedFields: true}.New
type Options struct {
	// CutManagedFields removes metadata.managedFields from every object on arrival, before transforms. It is
	// the cheap form of cache.TransformStripManagedFields, which this cache recognizes and does the same way.
	// By default they are kept: Extract functions of apply configurations read them.
	CutManagedFields bool
	// MemoryBudget is the budget of each kind in bytes. A kind above it reports that to OnProblem, once, and
	// goes on. Zero or negative: none.
	MemoryBudget int64
	// GoHeap keeps the objects in the Go heap, where GOMEMLIMIT and GOGC count them.
	GoHeap bool
	// HandlerBacklog is the number of pending events of one handler up to which every event is delivered.
	// Beyond it the events of one key merge into one: the handler gets the last state it knew and the newest.
	// Ends of incarnations are never merged away: each UID gets its delete. Zero: 8192. Negative: 1.
	HandlerBacklog int
	// Audit is the approximate interval of audits, which find lost events; see informer.Options. Zero: 6 h.
	// Negative: never.
	Audit time.Duration
	// OnProblem is called with each problem that a person should look at; see informer.Problem. It must not
	// block. Nil: problems are only logged.
	OnProblem func(informer.Problem)
	// Configure may change the options of each informer before it is made. Nil: none.
	Configure func(*informer.Options)
	// IgnoreNewInformer accepts cache.Options.NewInformer, and never calls it. It is for a function that only
	// names informers for the metrics and logs of client-go: these metrics stay empty. A function that changes
	// what an informer does is lost. False: NewInformer is an error.
	IgnoreNewInformer bool
	// Metrics is where the metrics of the cache are registered. Nil: the registry of controller-runtime.
	Metrics prometheus.Registerer
	// Logger is the log. Nil: the log of controller-runtime, with the name "cache".
	Logger *slog.Logger
}

// TransformTypeError says that a transform returns another type than it gets. A packed object has the type of
// its kind.
type TransformTypeError = objects.TypeError

// TransformFieldError says that a transform sets a field that has no JSON. A packed object is its JSON, so it is
// rejected.
type TransformFieldError = objects.FieldError

// defaultBacklog is the default of Options.HandlerBacklog.
const defaultBacklog = 8192

// New is a cache.NewCacheFunc: it makes a packed cache with the zero Options.
func New(cfg *rest.Config, opts crcache.Options) (crcache.Cache, error) {
	return Options{}.New(cfg, opts)
}

// New is a cache.NewCacheFunc: it makes a packed cache. It starts nothing. The result is a *[Cache].
//
// Errors: an *option.Error for an option that cannot be, such as NewInformer without
// IgnoreNewInformer, and those of the configuration, the scheme and the mapper.
func (o Options) New(cfg *rest.Config, opts crcache.Options) (crcache.Cache, error) {
	if o.IgnoreNewInformer {
		opts.NewInformer = nil
	}
	return newCache(cfg, opts, o.withDefaults())
}

func (o Options) withDefaults() Options {
	switch {
	case o.HandlerBacklog == 0:
		o.HandlerBacklog = defaultBacklog
	case o.HandlerBacklog < 0:
		o.HandlerBacklog = 1
	}
	if o.Metrics == nil {
		o.Metrics = crmetrics.Registry
	}
	if o.Logger == nil {
		o.Logger = slog.New(logr.ToSlogHandler(crlog.Log.WithName("cache")))
	}
	return o
}
