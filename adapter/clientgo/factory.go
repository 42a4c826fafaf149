package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flyball-io/flyball/client"
)

// Factory is an informers.SharedInformerFactory whose informers hold their objects packed. Any goroutine may call
// its methods.
type Factory struct {
	group[reflect.Type]
	prober *prober[kubernetes.Interface]
}

var _ informers.SharedInformerFactory = (*Factory)(nil)

// NewSharedInformerFactory returns a factory of packed informers. It starts nothing and sends nothing. For a client
// instead of a configuration see [ConfigOf].
//
// Errors: an *option.Error for options that cannot be, and those of the configuration.
func NewSharedInformerFactory(cfg *rest.Config, resync time.Duration, options ...Option) (*Factory, error) {
	s, err := open(cfg, resync, options)
	if err != nil {
		return nil, err
	}
	l, err := newProber[kubernetes.Interface](kubernetes.NewForConfig)
	if err != nil {
		return nil, fmt.Errorf("clientgo: %w", err)
	}
	return &Factory{group: newGroup[reflect.Type](s), prober: l}, nil
}

// NewSharedInformerFactoryWithOptions is [NewSharedInformerFactory], under the name that client-go has.
func NewSharedInformerFactoryWithOptions(cfg *rest.Config, resync time.Duration, options ...Option) (*Factory, error) {
	return NewSharedInformerFactory(cfg, resync, options...)
}

func open(cfg *rest.Config, resync time.Duration, options []Option) (*shared, error) {
	c, err := newConfig(resync, options)
	if err != nil {
		return nil, err
	}
	conn, err := connect(cfg, c.scheme, c.Mapper)
	if err != nil {
		return nil, err
	}
	return newShared(c, conn), nil
}

// NewSharedIndexInformer returns one packed informer for the kind of an example: an object of a Go type in the scheme,
// or an unstructured.Unstructured or metav1.PartialObjectMetadata whose kind is set. It starts nothing.
//
// Errors: an *option.Error, one for a type that the scheme does not know, and those of the configuration, the
// transform and the indexers.
func NewSharedIndexInformer(cfg *rest.Config, example runtime.Object, resync time.Duration, indexers toolscache.Indexers, options ...Option) (*Informer, error) {
	s, err := open(cfg, resync, options)
	if err != nil {
		return nil, err
	}
	of := s.spec(form(typed), s.c.resyncOf(example))
	switch example.(type) {
	case nil:
		return nil, errors.New("clientgo: the example is nil")
	case runtime.Unstructured:
		of.form, of.gvk = untyped, example.GetObjectKind().GroupVersionKind()
	case *metav1.PartialObjectMetadata:
		of.form, of.gvk, of.selection.MetadataOnly = metadata, example.GetObjectKind().GroupVersionKind(), true
	default:
		of.gvk, err = s.kindOf(example, schema.GroupVersion{})
	}
	if err == nil && of.gvk.Kind == "" {
		err = fmt.Errorf("the example, a %T, does not say its kind", example)
	}
	if err != nil {
		return nil, fmt.Errorf("clientgo: %w", err)
	}
	in := newInformer(s, of, indexers, nil)
	return in, in.err
}

// spec returns the selection of the options.
func (s *shared) spec(f form, resync time.Duration) spec {
	return spec{form: f, resync: resync, selection: client.Selection{
		Namespace: s.c.namespace, Labels: s.c.labels, Fields: s.c.fields, MetadataOnly: f == metadata,
	}}
}

// kindOf returns the kind of a Go type. gv is its group and version; empty: the only one that it has.
func (s *shared) kindOf(o runtime.Object, gv schema.GroupVersion) (schema.GroupVersionKind, error) {
	all, _, err := s.c.scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w: add it to the scheme of WithScheme", err)
	}
	for _, gvk := range all {
		if gvk.GroupVersion() == gv || gv.Empty() && len(all) == 1 {
			return gvk, nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("the scheme has %T as %v, and not in %q", o, all, gv)
}

// InformerFor implements informers.SharedInformerFactory. Namespace, selectors, indexers and the period of resyncs are
// those of the informer that newFunc makes; the selectors of the factory apply, too. newFunc is called once, with a
// client whose first request is read and never sent. A transform, a handler of watch errors and handlers are set on the
// result: if newFunc sets one, the informer cannot run.
//
// There is no error to return. An informer that cannot be, such as one of a type that no scheme knows, is logged
// here. Its AddEventHandler returns the error, and so does WaitForCacheSyncWithContext, at once.
func (f *Factory) InformerFor(o runtime.Object, newFunc internalinterfaces.NewInformerFunc) toolscache.SharedIndexInformer {
	return informerFor(f, o, func(resync time.Duration) (*template, error) {
		if newFunc == nil {
			return nil, errNoFunc
		}
		return f.prober.probe(resync, newFunc)
	})
}

var errNoFunc = errors.New("the function that makes the informer is nil")

// informerFor returns the informer of a Go type.
func informerFor(f *Factory, o runtime.Object, probe func(time.Duration) (*template, error)) *Informer {
	return f.get(reflect.TypeOf(o), func() *Informer {
		of := f.spec(typed, f.c.resyncOf(o))
		of.goType = fmt.Sprintf("%T", o)
		t, err := probe(of.resync)
		if err != nil {
			return newInformer(f.shared, of, nil, err)
		}
		of.gvr, of.selection.Namespace, of.resync = t.gvr, t.namespace, t.resync
		of.selection.Labels = bothLabels(of.selection.Labels, t.labels)
		of.selection.Fields = bothFields(of.selection.Fields, t.fields)
		of.gvk, err = f.kindOf(o, t.gvr.GroupVersion())
		return newInformer(f.shared, of, t.indexers, err)
	})
}

// ForResource implements informers.SharedInformerFactory, for every kind whose Go type is in the scheme. The plural of
// most kinds follows from their name. For another one the mapper of [Options] is asked, or the server: that is the one
// call here that sends requests.
func (f *Factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	kind, err := f.kindFor(resource)
	if err != nil {
		return nil, fmt.Errorf("clientgo: no informer found for %v: %w", resource, err)
	}
	o, err := f.c.scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("clientgo: no informer found for %v: %w", resource, err)
	}
	in := informerFor(f, o, func(resync time.Duration) (*template, error) {
		return &template{gvr: resource, namespace: f.c.namespace, indexers: namespaceIndex(), resync: resync}, nil
	})
	return generic{in, toolscache.NewGenericLister(in.GetIndexer(), resource.GroupResource())}, nil
}

var errNoType = errors.New("no type of the scheme has it")

// kindFor returns the kind of a resource that has a Go type. One whose guessed plural is the resource is taken, if it
// can be listed.
func (f *Factory) kindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	gv := resource.GroupVersion()
	if len(f.c.scheme.KnownTypes(gv)) == 0 {
		return schema.GroupVersionKind{}, errNoType
	}
	for kind := range f.c.scheme.KnownTypes(gv) {
		plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
		if plural == resource && f.c.scheme.Recognizes(gv.WithKind(kind+"List")) {
			return gv.WithKind(kind), nil
		}
	}
	kind, err := f.conn.typed.Mapper().KindFor(resource)
	switch {
	case err != nil:
		return kind, fmt.Errorf("%w by that plural, and the server does not say its kind: %w", errNoType, err)
	case kind.GroupVersion() != gv || !f.c.scheme.Recognizes(gv.WithKind(kind.Kind+"List")):
		return kind, fmt.Errorf("its kind is %s: %w", kind, errNoType)
	}
	return kind, nil
}

func namespaceIndex() toolscache.Indexers {
	return toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
}

// generic is an informers.GenericInformer.
type generic struct {
	in     *Informer
	lister toolscache.GenericLister
}

func (g generic) Informer() toolscache.SharedIndexInformer { return g.in }
func (g generic) Lister() toolscache.GenericLister         { return g.lister }

// Namespace returns the namespace of the factory, for the New functions of generated informers; see [Of].
func (f *Factory) Namespace() string { return f.c.namespace }

// InformerName implements informers.SharedInformerFactory.
func (f *Factory) InformerName() *toolscache.InformerName { return f.c.name }

// Start implements informers.SharedInformerFactory.
func (f *Factory) Start(stop <-chan struct{}) { f.StartWithContext(wait.ContextForChannel(stop)) }

// Shutdown implements informers.SharedInformerFactory. No informer starts any more. It waits for those that run, and
// for the calls of their handlers: end the context or the channel of Start before.
func (f *Factory) Shutdown() {
	f.end()
	f.c.name.Release()
}

// WaitForCacheSync implements informers.SharedInformerFactory. It does not wait for informers that cannot run.
func (f *Factory) WaitForCacheSync(stop <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stop)).Synced
}

// WaitForCacheSyncWithContext implements informers.SharedInformerFactory. The error names what keeps each informer
// from syncing. It does not wait for informers that cannot run.
func (f *Factory) WaitForCacheSyncWithContext(ctx context.Context) toolscache.SyncResult {
	synced, errs := f.wait(ctx)
	if len(errs) > 0 {
		errs = append([]error{context.Cause(ctx)}, errs...)
	}
	return toolscache.SyncResult{Err: errors.Join(errs...), Synced: synced}
}
