package clientgo

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	"k8s.io/client-go/rest"
)

// ResourceFactory makes informers by the names of resources, which need no Go types. It is a
// dynamicinformer.DynamicSharedInformerFactory of unstructured objects, or a metadatainformer.SharedInformerFactory
// of metadata. Any goroutine may call its methods.
type ResourceFactory struct {
	group[schema.GroupVersionResource]
	form form
}

var (
	_ dynamicinformer.DynamicSharedInformerFactory = (*ResourceFactory)(nil)
	_ metadatainformer.SharedInformerFactory       = (*ResourceFactory)(nil)
)

// NewDynamicSharedInformerFactory returns a factory of packed informers of unstructured objects. Errors are those of
// [NewSharedInformerFactory].
func NewDynamicSharedInformerFactory(cfg *rest.Config, resync time.Duration, options ...Option) (*ResourceFactory, error) {
	return newResources(untyped, cfg, resync, options)
}

// NewFilteredDynamicSharedInformerFactory is [NewDynamicSharedInformerFactory] with two options as arguments, as in
// client-go. See [WithTweakListOptions].
func NewFilteredDynamicSharedInformerFactory(cfg *rest.Config, resync time.Duration, namespace string, tweak func(*metav1.ListOptions), options ...Option) (*ResourceFactory, error) {
	return newResources(untyped, cfg, resync, append(options, WithNamespace(namespace), WithTweakListOptions(tweak)))
}

// NewMetadataSharedInformerFactory returns a factory of packed informers of metadata. The server sends nothing else.
// Errors are those of [NewSharedInformerFactory].
func NewMetadataSharedInformerFactory(cfg *rest.Config, resync time.Duration, options ...Option) (*ResourceFactory, error) {
	return newResources(metadata, cfg, resync, options)
}

// NewFilteredMetadataSharedInformerFactory is [NewMetadataSharedInformerFactory] with two options as arguments, as in
// client-go. See [WithTweakListOptions].
func NewFilteredMetadataSharedInformerFactory(cfg *rest.Config, resync time.Duration, namespace string, tweak func(*metav1.ListOptions), options ...Option) (*ResourceFactory, error) {
	return newResources(metadata, cfg, resync, append(options, WithNamespace(namespace), WithTweakListOptions(tweak)))
}

func newResources(f form, cfg *rest.Config, resync time.Duration, options []Option) (*ResourceFactory, error) {
	s, err := open(cfg, resync, options)
	if err != nil {
		return nil, err
	}
	return &ResourceFactory{group: newGroup[schema.GroupVersionResource](s), form: f}, nil
}

// ForResource returns the informer of a resource. The server is asked for its kind when the informer runs.
func (f *ResourceFactory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	in := f.get(gvr, func() *Informer {
		of := f.spec(f.form, f.c.resync)
		of.gvr = gvr
		return newInformer(f.shared, of, namespaceIndex(), nil)
	})
	if f.form == metadata {
		return generic{in, metadatalister.NewRuntimeObjectShim(metadatalister.New(in.GetIndexer(), gvr))}
	}
	return generic{in, dynamiclister.NewRuntimeObjectShim(dynamiclister.New(in.GetIndexer(), gvr))}
}

// Start starts the informers that were asked for since the last start. They run until stop is closed.
func (f *ResourceFactory) Start(stop <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stop))
}

// Shutdown lets no informer start any more. It waits for those that run: close the channel of Start before.
func (f *ResourceFactory) Shutdown() { f.end() }

// WaitForCacheSync waits until all started informers have synced, or stop is closed.
func (f *ResourceFactory) WaitForCacheSync(stop <-chan struct{}) map[schema.GroupVersionResource]bool {
	synced, _ := f.wait(wait.ContextForChannel(stop))
	return synced
}
