package clientgo

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/informer"
	"github.com/flyball-io/flyball/option"
	"github.com/flyball-io/flyball/run"
)

// Options are what the packed cache has beside the options of client-go. The zero value works. [With] passes
// them to a factory.
type Options struct {
	// CutManagedFields removes metadata.managedFields from every object on arrival, before transforms. By
	// default they are kept: Extract functions of apply configurations read them.
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
	// Mapper names the resource of each kind, and says whether it is namespaced. Nil: the server is asked, once.
	Mapper meta.RESTMapper
	// Configure may change the options of each informer before it is made. Nil: none.
	Configure func(*informer.Options)
	// Metrics is where the metrics flyball_cache_… are registered. Nil: nowhere.
	Metrics prometheus.Registerer
	// Logger is the log. Nil: slog.Default().
	Logger *slog.Logger
}

// defaultBacklog is the default of Options.HandlerBacklog.
const defaultBacklog = 8192

// Option is an option of a factory or of a single informer. Those that client-go has, too, have its names.
type Option func(*config)

// config is what options say.
type config struct {
	Options
	scheme    *runtime.Scheme
	namespace string
	labels    labels.Selector
	fields    fields.Selector
	transform toolscache.TransformFunc
	resync    time.Duration
	resyncs   map[reflect.Type]time.Duration
	name      *toolscache.InformerName
	errs      []error
}

func newConfig(resync time.Duration, all []Option) (*config, error) {
	c := &config{scheme: scheme.Scheme, resync: resync, labels: labels.Everything(), fields: fields.Everything(), resyncs: map[reflect.Type]time.Duration{}}
	for _, o := range all {
		if o != nil {
			o(c)
		}
	}
	switch {
	case c.HandlerBacklog == 0:
		c.HandlerBacklog = defaultBacklog
	case c.HandlerBacklog < 0:
		c.HandlerBacklog = 1
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, errors.Join(c.errs...)
}

// With sets what only the packed cache has.
func With(o Options) Option { return func(c *config) { c.Options = o } }

// WithNamespace restricts namespaced kinds to one namespace. Empty: all.
func WithNamespace(namespace string) Option { return func(c *config) { c.namespace = namespace } }

// WithLabelSelector restricts all kinds to the objects whose labels match. Nil: everything.
func WithLabelSelector(s labels.Selector) Option {
	return func(c *config) { c.labels = bothLabels(c.labels, s) }
}

// WithFieldSelector restricts all kinds to the objects whose fields match. Nil: everything.
func WithFieldSelector(s fields.Selector) Option {
	return func(c *config) { c.fields = bothFields(c.fields, s) }
}

// WithTweakListOptions restricts all kinds by the label selector and the field selector that a function sets.
// The function is called once, here, with empty options. One that sets anything else is an *option.Error of the
// constructor, since the packed cache makes its own lists and watches; AllowWatchBookmarks is ignored.
func WithTweakListOptions(tweak func(*metav1.ListOptions)) Option {
	return func(c *config) {
		if tweak == nil {
			return
		}
		l, f, err := selectorsOf(tweak)
		if err != nil {
			c.refuse("WithTweakListOptions", err)
			return
		}
		c.labels, c.fields = bothLabels(c.labels, l), bothFields(c.fields, f)
	}
}

// WithTransform sets a transform of all kinds. It must return the type that it gets; see [Informer.SetTransform].
func WithTransform(f toolscache.TransformFunc) Option { return func(c *config) { c.transform = f } }

// WithCustomResyncConfig sets the resync periods of single Go types.
func WithCustomResyncConfig(periods map[metav1.Object]time.Duration) Option {
	return func(c *config) {
		for o, period := range periods {
			c.resyncs[reflect.TypeOf(o)] = period
		}
	}
}

// WithInformerName is accepted for generated code, which asks the factory for it. The metrics of the packed cache
// do not use it. Shutdown releases it.
func WithInformerName(name *toolscache.InformerName) Option {
	return func(c *config) { c.name = name }
}

// WithScheme sets the Go types of the kinds. By default they are those of client-go's clientset. It must have the
// types of generated informers of other API groups; see [Of].
func WithScheme(s *runtime.Scheme) Option {
	return func(c *config) {
		if s == nil {
			c.refuse("WithScheme", errors.New("is nil"))
			return
		}
		c.scheme = s
	}
}

func (c *config) refuse(field string, err error) {
	c.errs = append(c.errs, &option.Error{Of: "clientgo", Field: field, Err: err})
}

func (c *config) resyncOf(obj any) time.Duration {
	if period, ok := c.resyncs[reflect.TypeOf(obj)]; ok {
		return period
	}
	return c.resync
}

// selectorsOf returns the selectors that a function sets.
func selectorsOf(tweak func(*metav1.ListOptions)) (labels.Selector, fields.Selector, error) {
	o := metav1.ListOptions{}
	if err := run.Safely("tweak of list options", func() error { tweak(&o); return nil }); err != nil {
		return nil, nil, err
	}
	l, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, nil, fmt.Errorf("LabelSelector: %w", err)
	}
	f, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, nil, fmt.Errorf("FieldSelector: %w", err)
	}
	o.LabelSelector, o.FieldSelector, o.AllowWatchBookmarks = "", "", false
	var other []string
	for i, v := 0, reflect.ValueOf(o); i < v.NumField(); i++ {
		if !v.Field(i).IsZero() {
			other = append(other, v.Type().Field(i).Name)
		}
	}
	if len(other) > 0 {
		return nil, nil, fmt.Errorf("it sets %s: the packed cache takes the label selector and the field selector only", strings.Join(other, ", "))
	}
	return l, f, nil
}

func bothLabels(a, b labels.Selector) labels.Selector {
	if b == nil {
		return a
	}
	all, selectable := b.Requirements()
	if !selectable {
		return labels.Nothing()
	}
	return a.Add(all...)
}

func bothFields(a, b fields.Selector) fields.Selector {
	switch {
	case b == nil || b.Empty():
		return a
	case a.Empty():
		return b
	}
	return fields.AndSelectors(a, b)
}
