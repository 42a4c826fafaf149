// Package clientgo is the packed cache of Flyball in programs of client-go: a SharedInformerFactory whose
// informers hold their objects as packed bytes outside the Go heap, in a twentieth of the memory or less.
//
//	factory, err := clientgo.NewSharedInformerFactory(cfg, 30*time.Second) // was: informers.NewSharedInformerFactory(client, …)
//	pods := factory.Core().V1().Pods()
//	_, err = pods.Informer().AddEventHandler(handler)
//	factory.StartWithContext(ctx)
//	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil { … }
//	pod, err := pods.Lister().Pods("default").Get("web")
//	…
//	cancel()
//	factory.Shutdown()
//
// To begin:
//  1. Replace the constructor, as above. It takes the *rest.Config, and returns an error. [ConfigOf] makes one of a
//     clientset.
//  2. Options keep their names: [WithNamespace], [WithTweakListOptions], [WithTransform], [WithCustomResyncConfig].
//  3. Generated informers of other API groups: [Of], and [WithScheme] with their types.
//  4. [NewDynamicSharedInformerFactory] and [NewMetadataSharedInformerFactory] are the other factories, and
//     [NewSharedIndexInformer] makes one informer without any.
//  5. To go back, replace the constructor again.
//
// What differs from client-go:
//   - A read of a store or lister decodes into objects of the caller, in the order of keys. List decodes all.
//   - Stores are read-only: Add, Update, Delete, Replace and Resync return [ErrReadOnly]. Bookmark, which returns
//     nothing, does nothing and logs it.
//   - Before the first list is complete, a Get of a lister is an error, not NotFound. A List cannot say so: it is
//     empty. [Readable] says why.
//   - A transform is set before the start, returns the type that it gets, changes no identity, and sets no field
//     without JSON.
//   - The function of InformerFor says what to list, and with which indexes. A transform, a handler of watch errors
//     and handlers are set on the informer that InformerFor returns; set in the function, they are an error.
//   - A panic of a handler or index function is logged and reported, and ends nothing. No index has an object on which
//     one failed: reads by an index return the others, and an error.
//   - An object that cannot be decoded is left out of List, and reported; a Get of it is an error.
//   - A delete and a create of one name are always two events, with two UIDs. A handler that cannot keep up costs
//     memory by the number of keys. See [Options.HandlerBacklog].
//   - Resyncs are spread over their period.
//
// [With] passes [Options], which only the packed cache has. [Informer.Packed] reads metadata and single fields
// without decoding objects.
package clientgo
