package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	coreinformers "k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// lockedInformers is an informer factory over the objects of the call that holds the lock. Handlers of events are
// never called.
type lockedInformers struct {
	informers.SharedInformerFactory // not used
	lock                            *callLock
	// fixed replaces the objects of the call for some kinds.
	fixed map[schema.GroupKind][]runtime.Object
	// watched is called when a plugin adds an event handler: it has read the present objects then. It may be nil.
	watched func()
}

var _ informers.SharedInformerFactory = lockedInformers{}

func (s lockedInformers) Core() coreinformers.Interface { return coreinformers.New(s, "", nil) }
func (s lockedInformers) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(s, "", nil)
}
func (s lockedInformers) Networking() networking.Interface { return networking.New(s, "", nil) }
func (s lockedInformers) Node() node.Interface             { return node.New(s, "", nil) }
func (s lockedInformers) Storage() storage.Interface       { return storage.New(s, "", nil) }

func (s lockedInformers) Start(<-chan struct{}) {}

// InformerFor returns the informer of a built-in kind.
func (s lockedInformers) InformerFor(sample runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(sample)
	if err != nil {
		panic(err) // the types are those of the scheme
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return lockedInformer{lockedIndexer{lock: s.lock, prefix: "/" + keyPrefix(plural.GroupResource()) + "/", version: kinds[0].GroupVersion(), typed: true, fixed: s.fixed[kinds[0].GroupKind()]}, s.watched}
}

// ForResource returns the informer of any kind.
func (s lockedInformers) ForResource(r schema.GroupVersionResource) (informers.GenericInformer, error) {
	typed := legacyscheme.Scheme.IsGroupRegistered(r.Group)
	return lockedInformer{lockedIndexer{lock: s.lock, prefix: "/" + keyPrefix(r.GroupResource()) + "/", version: r.GroupVersion(), typed: typed}, nil}, nil
}

// lockedInformer is the informer of one kind.
type lockedInformer struct {
	lockedIndexer
	watched func()
}

var (
	_ cache.SharedIndexInformer              = lockedInformer{}
	_ informers.GenericInformer              = lockedInformer{}
	_ cache.ResourceEventHandlerRegistration = lockedInformer{}
)

func (i lockedInformer) Informer() cache.SharedIndexInformer { return i }
func (i lockedInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(i.lockedIndexer, i.version.WithResource("").GroupResource())
}
func (i lockedInformer) GetIndexer() cache.Indexer { return i.lockedIndexer }
func (i lockedInformer) GetStore() cache.Store     { return i.lockedIndexer }
func (i lockedInformer) HasSynced() bool           { return true }
func (i lockedInformer) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	if i.watched != nil {
		i.watched()
	}
	return i, nil
}
func (i lockedInformer) AddEventHandlerWithResyncPeriod(cache.ResourceEventHandler, time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i, nil
}
func (i lockedInformer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }

// lockedIndexer is the cache of one kind.
type lockedIndexer struct {
	cache.SharedIndexInformer // not used
	cache.Indexer             // not used
	lock                      *callLock
	prefix                    string // of the keys
	version                   schema.GroupVersion
	typed                     bool
	fixed                     []runtime.Object
}

// object decodes a stored object in the version of the cache.
func (i lockedIndexer) object(text json.RawMessage) any {
	if i.typed {
		obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(i.version), text)
		if err != nil { // stored in another version: there is no way from one to another but by the internal one
			if obj, err = runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), text); err == nil {
				obj, err = legacyscheme.Scheme.ConvertToVersion(obj, i.version)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("an object under %s: %v", i.prefix, err)) // it was encoded here
		}
		return obj
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		panic(fmt.Sprintf("an object under %s: %v", i.prefix, err))
	}
	u.SetAPIVersion(i.version.String())
	return u
}

func (i lockedIndexer) GetByKey(key string) (any, bool, error) {
	for _, o := range i.fixed {
		if m, err := meta.Accessor(o); err == nil && strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/") == key {
			return o, true, nil
		}
	}
	if i.fixed != nil {
		return nil, false, nil
	}
	text := i.lock.call.get(i.prefix + key)
	if text == nil {
		return nil, false, nil
	}
	return i.object(text), true, nil
}

func (i lockedIndexer) List() []any { return i.below("") }

// below returns the objects of a namespace, given with its slash; all objects for "".
func (i lockedIndexer) below(namespace string) (out []any) {
	if i.fixed != nil {
		for _, o := range i.fixed {
			out = append(out, o)
		}
		return out
	}
	for _, text := range i.lock.call.under(i.prefix + namespace) {
		out = append(out, i.object(text))
	}
	return out
}

// Index returns the objects of the namespace of obj. There is no other index.
func (i lockedIndexer) Index(_ string, obj any) ([]any, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return i.below(m.GetNamespace() + "/"), nil
}

func (i lockedIndexer) AddIndexers(cache.Indexers) error { return nil }
