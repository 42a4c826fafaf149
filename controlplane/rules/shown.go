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

// shown is an informer factory whose caches hold what the call sees whose turn it is. Nothing is ever announced.
type shown struct {
	informers.SharedInformerFactory // not used
	turn                            *turns
	// fixed are the objects of some kinds, in place of those of the call.
	fixed map[schema.GroupKind][]runtime.Object
	// watched is called when a plugin begins to wait for changes: it has read what there is. It may be nil.
	watched func()
}

var _ informers.SharedInformerFactory = shown{}

func (s shown) Core() coreinformers.Interface { return coreinformers.New(s, "", nil) }
func (s shown) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(s, "", nil)
}
func (s shown) Networking() networking.Interface { return networking.New(s, "", nil) }
func (s shown) Node() node.Interface             { return node.New(s, "", nil) }
func (s shown) Storage() storage.Interface       { return storage.New(s, "", nil) }

func (s shown) Start(<-chan struct{}) {}

// InformerFor returns the informer of a built-in kind.
func (s shown) InformerFor(sample runtime.Object, _ internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(sample)
	if err != nil {
		panic(err) // the types are those of the scheme
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return shownInformer{shownIndexer{turn: s.turn, prefix: "/" + keyPrefix(plural.GroupResource()) + "/", version: kinds[0].GroupVersion(), typed: true, fixed: s.fixed[kinds[0].GroupKind()]}, s.watched}
}

// ForResource returns the informer of any kind.
func (s shown) ForResource(r schema.GroupVersionResource) (informers.GenericInformer, error) {
	typed := legacyscheme.Scheme.IsGroupRegistered(r.Group)
	return shownInformer{shownIndexer{turn: s.turn, prefix: "/" + keyPrefix(r.GroupResource()) + "/", version: r.GroupVersion(), typed: typed}, nil}, nil
}

// shownInformer is the informer of one kind.
type shownInformer struct {
	shownIndexer
	watched func()
}

var (
	_ cache.SharedIndexInformer              = shownInformer{}
	_ informers.GenericInformer              = shownInformer{}
	_ cache.ResourceEventHandlerRegistration = shownInformer{}
)

func (i shownInformer) Informer() cache.SharedIndexInformer { return i }
func (i shownInformer) Lister() cache.GenericLister {
	return cache.NewGenericLister(i.shownIndexer, i.version.WithResource("").GroupResource())
}
func (i shownInformer) GetIndexer() cache.Indexer { return i.shownIndexer }
func (i shownInformer) GetStore() cache.Store     { return i.shownIndexer }
func (i shownInformer) HasSynced() bool           { return true }
func (i shownInformer) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	if i.watched != nil {
		i.watched()
	}
	return i, nil
}
func (i shownInformer) AddEventHandlerWithResyncPeriod(cache.ResourceEventHandler, time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i, nil
}
func (i shownInformer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }

// shownIndexer is the cache of one kind.
type shownIndexer struct {
	cache.SharedIndexInformer // not used
	cache.Indexer             // not used
	turn                      *turns
	prefix                    string // of the keys
	version                   schema.GroupVersion
	typed                     bool
	fixed                     []runtime.Object
}

// object reads an object in the version of the cache.
func (i shownIndexer) object(text json.RawMessage) any {
	if i.typed {
		obj, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(i.version), text)
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

func (i shownIndexer) GetByKey(key string) (any, bool, error) {
	for _, o := range i.fixed {
		if m, err := meta.Accessor(o); err == nil && strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/") == key {
			return o, true, nil
		}
	}
	if i.fixed != nil {
		return nil, false, nil
	}
	text := i.turn.call.get(i.prefix + key)
	if text == nil {
		return nil, false, nil
	}
	return i.object(text), true, nil
}

func (i shownIndexer) List() []any { return i.below("") }

// below returns the objects of a namespace, or all.
func (i shownIndexer) below(namespace string) (out []any) {
	if i.fixed != nil {
		for _, o := range i.fixed {
			out = append(out, o)
		}
		return out
	}
	for _, text := range i.turn.call.under(i.prefix + namespace) {
		out = append(out, i.object(text))
	}
	return out
}

// Index returns the objects of the namespace of obj. There is no other index.
func (i shownIndexer) Index(_ string, obj any) ([]any, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return i.below(m.GetNamespace() + "/"), nil
}

func (i shownIndexer) AddIndexers(cache.Indexers) error { return nil }
